package paddlegate

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The library ends a call within 100 ms of a signal, for hosts that must handle it on that thread.
func TestASignalDoesNotCutACallShort(t *testing.T) {
	const timeout = time.Second
	window, err := open(t, silent(t), Timeout(timeout)).Window("erp", 1, time.Minute)
	must(t, err)
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				// To every thread, as a debugger or a profiler does.
				tasks, _ := os.ReadDir("/proc/self/task")
				for _, task := range tasks {
					if number, err := strconv.Atoi(task.Name()); err == nil {
						_ = syscall.Tgkill(os.Getpid(), number, syscall.SIGUSR1)
					}
				}
			}
		}
	}()
	began := time.Now()
	_, err = window.TryAcquire(context.Background())
	took := time.Since(began)
	close(stop)
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || took < timeout-20*time.Millisecond {
		t.Errorf("took=%s error=%v", took, err)
	}
}
