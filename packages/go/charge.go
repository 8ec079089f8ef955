package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"slices"
	"strings"
)

// Charge is a number of units: [Units] for every limit that counts units, [ByLabel] for each limit,
// or [ByLimiter] for each of several limiters that decide together.
type Charge interface{ rows() (int64, []unitRow) }

// Units is a number for every limit that counts units.
type Units int64

// ByLabel has a number for each limit by its label. A limit that it does not name counts one, the
// call; a limit of points must be named. For several limiters a key may also be the name of one.
type ByLabel map[string]int64

// ByLimiter has the units of each of several limiters by its name: [Units] or [ByLabel].
type ByLimiter map[string]Charge

type unitRow struct {
	label, limiter string
	units          int64
}

func (u Units) rows() (int64, []unitRow) { return int64(u), nil }

func (u ByLabel) rows() (int64, []unitRow) {
	rows := make([]unitRow, 0, len(u))
	for label, units := range u {
		rows = append(rows, unitRow{label: label, units: units})
	}
	return 0, sorted(rows)
}

func (u ByLimiter) rows() (int64, []unitRow) {
	rows := make([]unitRow, 0, len(u))
	for limiter, charge := range u {
		units, of := charge.rows()
		if of == nil {
			rows = append(rows, unitRow{label: limiter, units: units})
		}
		for _, row := range of {
			rows = append(rows, unitRow{label: row.label, limiter: limiter, units: row.units})
		}
	}
	return 0, sorted(rows)
}

// fixedCharge is a charge that stays as it was when its caller changes the map.
type fixedCharge struct {
	units int64
	list  []unitRow
}

func (c fixedCharge) rows() (int64, []unitRow) { return c.units, c.list }

// fixed reads a charge once, for a call that sends it again while it waits.
func fixed(charge Charge) Charge {
	if charge == nil {
		return nil
	}
	units, rows := charge.rows()
	if rows == nil {
		return charge
	}
	return fixedCharge{units, rows}
}

// sorted makes the same call and the same error of the same map.
func sorted(rows []unitRow) []unitRow {
	slices.SortFunc(rows, func(a, b unitRow) int {
		if order := strings.Compare(a.limiter, b.limiter); order != 0 {
			return order
		}
		return strings.Compare(a.label, b.label)
	})
	return rows
}

// nativeUnits converts a charge: its number, or an array that is not NULL and its length. The pinner
// keeps what the array refers to.
func nativeUnits(argument string, charge Charge, pinner *runtime.Pinner) (C.int64_t, *C.pg_units, C.size_t, error) {
	if charge == nil {
		return 0, nil, 0, &InvalidError{Argument: argument, Reason: "is missing"}
	}
	number, rows := charge.rows()
	if rows == nil {
		if number < 0 {
			return 0, nil, 0, &InvalidError{Argument: argument, Reason: "must not be negative"}
		}
		return C.int64_t(number), nil, 0, nil
	}
	array := make([]C.pg_units, max(len(rows), 1))
	pinner.Pin(&array[0])
	for i, row := range rows {
		if row.units < 0 {
			return 0, nil, 0, &InvalidError{Argument: argument, Reason: "must not be negative: label=" + row.label}
		}
		array[i].units = C.uint64_t(row.units)
		label, err := text(argument, row.label)
		if err != nil {
			return 0, nil, 0, err
		}
		pinner.Pin(label)
		array[i].label = label
		if row.limiter != "" {
			limiter, err := text(argument, row.limiter)
			if err != nil {
				return 0, nil, 0, err
			}
			pinner.Pin(limiter)
			array[i].limiter = limiter
		}
	}
	return 0, &array[0], C.size_t(len(rows)), nil
}
