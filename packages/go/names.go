package paddlegate

// #include "paddlegate.h"
import "C"

// Kind is the kind of a limit.
type Kind string

// The kinds of limits.
const (
	KindBucket      Kind = "bucket"
	KindWindow      Kind = "window"
	KindLeaky       Kind = "leaky"
	KindPoints      Kind = "points"
	KindThrottle    Kind = "throttle"
	KindUnlimited   Kind = "unlimited"
	KindPaused      Kind = "paused"
	KindConcurrency Kind = "concurrency"
	KindQuota       Kind = "quota"
)

// Reason is why a call was refused or queued: the kind of a limit, or one of the constants. It is
// empty for a grant.
type Reason string

// The reasons that are not kinds of limits.
const (
	// ReasonPaused is a pause, by the policy or at run time.
	ReasonPaused Reason = "paused"
	// ReasonBlocked is a block, see [Limiter.Block] and [BlockAfter].
	ReasonBlocked Reason = "blocked"
	// ReasonTooLarge is a cost above a limit that was lowered at run time.
	ReasonTooLarge Reason = "too_large"
	// ReasonRunning is another run of the job, with the same id, that holds its lease.
	ReasonRunning Reason = "running"
	// ReasonUnavailable is a store that cannot decide, see [OnUnavailable].
	ReasonUnavailable Reason = "unavailable"
)

// Status is the status of a [Decision].
type Status string

// The statuses of a decision.
const (
	StatusRefused  Status = "refused"
	StatusGranted  Status = "granted"
	StatusQueued   Status = "queued"
	StatusNoTicket Status = "no_ticket"
)

// Settlement is the result of a correction, a release or a cancellation. It is empty where there was
// nothing to settle.
type Settlement string

// The settlements.
const (
	// Settled is a charge that is now the actual cost.
	Settled Settlement = "settled"
	// AlreadySettled is a permit that was settled before.
	AlreadySettled Settlement = "already"
	// SettledLate is a permit that is too old, or a lease that had ended before.
	SettledLate Settlement = "late"
	// SettledUnknown is a permit, a lease or a ticket that does not exist.
	SettledUnknown Settlement = "unknown"
	// Released is a lease that has ended now.
	Released Settlement = "released"
	// Cancelled is a ticket that has left the queue, or the lease that it became.
	Cancelled Settlement = "cancelled"
)

// Action is what to do with a job, see [Limiter.Admit].
type Action string

// The actions.
const (
	// ActionRefuse leaves the reaction to the caller: the job is over the limit.
	ActionRefuse Action = "refuse"
	// ActionRun is to run the job now, and to release its permit when it has ended.
	ActionRun Action = "run"
	// ActionWait is to repeat the call after a while; the job keeps its queue position.
	ActionWait Action = "wait"
	// ActionReschedule is to put the job away until its time; it keeps its queue position.
	ActionReschedule Action = "reschedule"
	// ActionDrop is to discard the job.
	ActionDrop Action = "drop"
)

var statuses = [...]Status{StatusRefused, StatusGranted, StatusQueued, StatusNoTicket}

var (
	kinds       = namesOf[Kind](12, func(i C.int32_t) *C.char { return C.pg_kind_name(i) })
	reasons     = namesOf[Reason](13, func(i C.int32_t) *C.char { return C.pg_reason_name(i) })
	settlements = namesOf[Settlement](9, func(i C.int32_t) *C.char { return C.pg_settlement_name(i) })
	actions     = namesOf[Action](5, func(i C.int32_t) *C.char { return C.pg_action_name(i) })
)

// 0 has a name among the actions alone.
func init() { actions[0] = ActionRefuse }

// namesOf returns the names by their numbers; 0 has none.
func namesOf[N ~string](count int, name func(C.int32_t) *C.char) []N {
	names := make([]N, count)
	for i := 1; i < count; i++ {
		names[i] = N(C.GoString(name(C.int32_t(i))))
	}
	return names
}

func nameOf[N ~string](names []N, number int32) N {
	if number < 0 || int(number) >= len(names) {
		return "?"
	}
	return names[number]
}

// kindNumber returns the number of a kind, and one that no kind has for another text.
func kindNumber(kind Kind) C.int32_t {
	for i, known := range kinds {
		if known == kind && kind != "" && kind != "?" {
			return C.int32_t(i)
		}
	}
	return -1
}
