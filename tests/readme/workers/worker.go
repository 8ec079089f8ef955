package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"paddlegate"
)

func main() {
	pg, err := paddlegate.Open("", paddlegate.Timeout(20*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer pg.Close()
	api, err := pg.Window(os.Args[1], 20, 500*time.Millisecond)
	if err != nil {
		log.Fatal(err)
	}
	bufio.NewReader(os.Stdin).ReadString('\n')
	left := map[bool]int{true: 30, false: 30}
	for left[true] > 0 || left[false] > 0 {
		decision, err := api.TryAcquire(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		left[decision.Allowed()]--
		retry := "null"
		if !decision.Allowed() {
			retry = fmt.Sprint(decision.RetryAfter.Microseconds())
		}
		fmt.Printf("{\"at\": %d, \"retry\": %s}\n", decision.At.UnixMicro(), retry)
		time.Sleep(2 * time.Millisecond)
	}
}
