package locale

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the same zones on every machine
)

// Clock is a time as a wall clock in a zone shows it.
type Clock struct {
	Year, Month, Day, Hour, Minute, Second, Milli int
	// Weekday counts from Sunday, 0.
	Weekday int
	// Offset is that of the zone, in seconds east of UTC.
	Offset int
	// Name is the zone's short name in en-US: UTC, EST, GMT+1.
	Name string
}

// At gives the clock of a zone at a time in milliseconds since 1970. The error names a zone that is unknown.
func At(ms int64, zone string) (Clock, error) {
	switch strings.ToUpper(zone) {
	case "UTC", "GMT", "ETC/UTC", "ETC/GMT", "":
		zone = "UTC"
	case "LOCAL":
		return Clock{}, fmt.Errorf("Invalid time zone specified: %s", zone) //nolint:staticcheck // the text that scripts know from other engines
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return Clock{}, fmt.Errorf("Invalid time zone specified: %s", zone) //nolint:staticcheck // likewise
	}
	t := time.UnixMilli(ms).In(loc)
	name, offset := t.Zone()
	c := Clock{
		Year: t.Year(), Month: int(t.Month()), Day: t.Day(), Hour: t.Hour(), Minute: t.Minute(), Second: t.Second(),
		Milli: t.Nanosecond() / 1e6, Weekday: int(t.Weekday()), Offset: offset, Name: name,
	}
	if !known(zone, name) {
		c.Name = relative(offset)
	}
	return c, nil
}

// known says whether en-US has the short name of a zone.
func known(zone, name string) bool {
	switch name {
	case "UTC":
		return true
	case "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST":
		return strings.HasPrefix(zone, "America/") || strings.HasPrefix(zone, "US/") || strings.HasPrefix(zone, "Pacific/Hono")
	}
	return false
}

func relative(offset int) string {
	if offset == 0 {
		return "GMT"
	}
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	s := fmt.Sprintf("GMT%c%d", sign, offset/3600)
	if m := offset % 3600 / 60; m > 0 {
		s += fmt.Sprintf(":%02d", m)
	}
	return s
}
