package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// listener is the connection on which this process receives the wake-ups of the tickets that name its
// channel. It waits in Go, on no thread.
type listener struct {
	handle  *C.pg_wakeups
	channel string
	// A duplicate of the library's socket, so that Go may close its own.
	file *os.File
	raw  syscall.RawConn

	lock        sync.Mutex
	interrupted bool
}

type wakeup struct {
	id    string
	delay time.Duration
}

// notificationNode returns the node that sends the wake-ups of a limiter.
func (l *Limiter) notificationNode() (string, error) {
	var place [320]C.char
	err := run(func(e *C.pg_error) C.pg_code {
		return C.pg_notification_node(l.handle, &place[0], C.size_t(len(place)), e)
	})
	runtime.KeepAlive(l)
	return C.GoString(&place[0]), err
}

// openListener opens a listener at the node of a limiter, for a caller that keeps the store open.
func (l *Limiter) openListener() (*listener, error) {
	opened := new(listener)
	err := run(func(e *C.pg_error) C.pg_code { return C.pg_listen(l.handle, &opened.handle, e) })
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	var place [64]C.char
	err = run(func(e *C.pg_error) C.pg_code {
		return C.pg_wakeups_channel(opened.handle, &place[0], C.size_t(len(place)), e)
	})
	if err == nil {
		opened.channel = C.GoString(&place[0])
		err = opened.watch(int(C.pg_wakeups_fd(opened.handle)))
	}
	if err != nil {
		opened.close()
		return nil, err
	}
	return opened, nil
}

// watch lets Go's poller watch the socket, which does not block.
func (l *listener) watch(fd int) error {
	syscall.ForkLock.RLock()
	duplicate, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(duplicate)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return err
	}
	l.file = os.NewFile(uintptr(duplicate), "paddlegate")
	l.raw, err = l.file.SyscallConn()
	return err
}

// receive returns wake-ups as soon as there are some; none when the time is up. After an error no
// further wake-up arrives.
func (l *listener) receive(timeout time.Duration) ([]wakeup, error) {
	l.lock.Lock()
	if !l.interrupted {
		if err := l.file.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			l.lock.Unlock()
			return nil, err
		}
	}
	l.lock.Unlock()
	var wakeups []wakeup
	var failed error
	err := l.raw.Read(func(uintptr) bool {
		wakeups, failed = l.receiveNow()
		return failed != nil || len(wakeups) > 0
	})
	if failed == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		failed = err
	}
	return wakeups, failed
}

// receiveNow returns the wake-ups that have arrived. It reads all, because the poller tells of each
// arrival once.
func (l *listener) receiveNow() ([]wakeup, error) {
	var wakeups []wakeup
	var received [64]C.pg_wakeup
	for {
		var count C.size_t
		err := run(func(e *C.pg_error) C.pg_code {
			first := (*C.pg_wakeup)(unsafe.Pointer(&received[0]))
			return C.pg_wakeups_receive(l.handle, first, C.size_t(len(received)), &count, e)
		})
		for i := range received[:count] {
			wakeups = append(wakeups, wakeup{C.GoString(&received[i].id[0]), durationOf(received[i].delay_us)})
		}
		if err != nil || int(count) < len(received) {
			return wakeups, err
		}
	}
}

// interrupt ends a receive, now or later.
func (l *listener) interrupt() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.interrupted = true
	// Without a deadline there is no wait that it would have to end.
	_ = l.file.SetReadDeadline(time.Unix(1, 0))
}

func (l *listener) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
	C.pg_wakeups_close(l.handle, nil)
}
