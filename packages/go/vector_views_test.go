package paddlegate

import "context"

// What the steps that look answer.

func statistics(s *Statistics, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	shown := object{"granted": s.Granted, "refused": s.Refused, "waited": s.Waited,
		"wait_time_us": us(s.WaitTime), "units": s.Units, "corrections": s.Corrections, "held_time_us": us(s.HeldTime),
		"overages": s.Overages, "reclaimed": s.Reclaimed, "lapsed": s.Lapsed, "leases": s.Leases, "tickets": s.Tickets}
	if s.ShadowRefused > 0 {
		shown["shadow_refused"] = s.ShadowRefused
	}
	if len(s.RefusedBy) > 0 {
		shown["refused_by"] = s.RefusedBy
	}
	if s.NearLimit > 0 {
		shown["near_limit"] = s.NearLimit
	}
	if s.EstimatedUnits != s.Units {
		shown["estimated_units"] = s.EstimatedUnits
	}
	for name, counts := range map[string][]int64{"waits": s.Waits[:], "holds": s.Holds[:]} {
		for len(counts) > 0 && counts[len(counts)-1] == 0 {
			counts = counts[:len(counts)-1]
		}
		if len(counts) > 0 {
			shown[name] = counts
		}
	}
	return shown, nil
}

func (r *replay) history(history *History, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if len(history.Minutes) != 60 || len(history.Hours) != 48 {
		r.Fatalf("minutes=%d hours=%d", len(history.Minutes), len(history.Hours))
	}
	counted := func(entries []HistoryEntry) []object {
		shown := []object{}
		for _, it := range entries {
			if it.Granted+it.Refused+it.Waited+it.Units > 0 {
				shown = append(shown, object{"start_us": moment(it.Start), "granted": it.Granted, "refused": it.Refused,
					"waited": it.Waited, "units": it.Units})
			}
		}
		return shown
	}
	return object{"minutes": counted(history.Minutes), "hours": counted(history.Hours)}, nil
}

func inspected(do string, l *Limiter, offset, count int) (any, error) {
	inspection, err := l.Inspect(context.Background(), offset, count)
	if err != nil {
		return nil, err
	}
	limits, leases, tickets := []object{}, []object{}, []object{}
	for _, it := range inspection.Limits {
		limits = append(limits, object{"label": it.Label, "kind": it.Kind, "limit": it.Limit, "interval_us": us(it.Interval),
			"source": it.Source, "taken": it.Taken, "remaining": it.Remaining, "next_after_us": us(it.NextAfter),
			"reset_after_us": us(it.ResetAfter)})
	}
	for _, it := range inspection.Leases {
		leases = append(leases, object{"id": it.ID, "held_for_us": us(it.HeldFor), "ends_in_us": us(it.EndsIn), "fence": known(it.FencingToken)})
	}
	for _, it := range inspection.Tickets {
		tickets = append(tickets, object{"id": it.ID, "priority": it.Priority, "share": some(it.Share), "waited_us": us(it.Waited), "ready": it.Ready})
	}
	if do == "queue" {
		return tickets, nil
	}
	return object{"at_us": moment(inspection.At), "limits": limits, "paused_for_us": us(inspection.PausedFor),
		"blocked_for_us": us(inspection.BlockedFor), "mode": inspection.Mode, "leases": leases, "lease_count": inspection.LeaseCount,
		"tickets": tickets, "ticket_count": inspection.TicketCount}, nil
}
