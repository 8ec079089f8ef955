package paddlegate

// #include "paddlegate.h"
import "C"

import "time"

// RuntimeState is what applies in addition to the policies of the processes.
type RuntimeState struct {
	// Version rises with every change; 0 when nothing is in force.
	Version int64
	// InUse tells whether the store knew the name before this call.
	InUse bool
	// PausedFor is how long the pause lasts from now, BlockedFor the block; [Unknown] without one.
	PausedFor, BlockedFor time.Duration
	// ExpiresIn is how long the overrides last from now; [Unknown] when they last until they are
	// removed, and without overrides.
	ExpiresIn time.Duration
	// Overrides has the active overrides by label, and Learned the limits learned from the upstream,
	// which apply where no override is active.
	Overrides, Learned map[string]Limit
	// Mode is the override of the mode; empty without one.
	Mode string
}

func readRuntimeState(state *C.pg_runtime_state) *RuntimeState {
	return &RuntimeState{
		Version: int64(state.version), InUse: state.in_use == 1, PausedFor: durationOf(state.paused_for_us),
		BlockedFor: durationOf(state.blocked_for_us), ExpiresIn: durationOf(state.expires_in_us),
		Overrides: byLabel(readLimits(state.overrides[:], state.override_count)),
		Learned:   byLabel(readLimits(state.learned[:], state.learned_count)), Mode: C.GoString(&state.mode[0]),
	}
}

func byLabel(limits []Limit) map[string]Limit {
	found := make(map[string]Limit, len(limits))
	for _, limit := range limits {
		found[limit.Label] = limit
	}
	return found
}
