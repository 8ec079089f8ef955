// Package paddlegate is a rate limiter that processes in several languages share through Redis.
//
//	store, err := paddlegate.Open("redis://localhost:6379/0")
//	...
//	api, err := store.Window("stripe", 100, time.Minute) // at most 100 in any minute, in all processes
//	...
//	err = api.WithinLimit(ctx, func(*paddlegate.Permit) error { return callStripe() })
//
// Create limiters once and keep them. [Limiter.TryAcquire] and [Limiter.Allow] decide at once;
// [Limiter.Acquire] and [Limiter.WithinLimit] wait in a queue that all processes and languages share,
// first come, first served, until their context ends. They sleep in Go, on no thread.
//
// Every method that may call the server takes a context first. When it ends, a call that waits for one of
// the [Store]'s places at the server returns its error; a call that is at the server ends within the
// [Timeout]. What gives something back, such as [Permit.Release], works with an ended context too.
//
// A refusal is a [Decision], and an [OverLimitError] only of the methods that wait. Errors are typed:
// [InvalidError] names the argument to fix, [UnavailableError] tells whether a call may have counted.
//
// The package links the C library, which must have been built: make build-go in a checkout. With the
// build tag paddlegate_installed it uses the one that pkg-config finds.
package paddlegate
