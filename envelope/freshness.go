package envelope

import (
	"slices"
	"strconv"
	"time"

	"github.com/weir-run/weir/internal/canon"
)

// The buckets of a freshness.
const (
	// Fresh: every source was compared and is as it was seen, or nothing could be and it is younger than
	// a minute.
	Fresh = "fresh"
	// Recent is younger than ten minutes.
	Recent = "recent"
	// PossiblyStale is younger than an hour.
	PossiblyStale = "possibly_stale"
	// Stale is older.
	Stale = "stale"
	// Drifted: a source was compared and has changed, however young the result is.
	Drifted = "drifted"
)

// Source is something that a result was made from: what was seen of it then, and what is there now.
type Source struct {
	// Name is how the model addresses it.
	Name string
	// Seen is its state when the result was made, Now the one that was read for the comparison.
	Seen, Now State
	// Unchecked says that it could not be compared; Now says nothing then.
	Unchecked bool
}

// State is what is compared of a source. A field that is empty on either side is not compared.
type State struct {
	Size    int64
	ModTime time.Time
	Hash    string
	// Gone says that it is not there.
	Gone bool
}

// same compares two states: by their hashes where both have one, else by size and time.
func (s State) same(o State) bool {
	if s.Gone != o.Gone {
		return false
	}
	if s.Hash != "" && o.Hash != "" {
		return s.Hash == o.Hash
	}
	return s.Size == o.Size && (s.ModTime.IsZero() || o.ModTime.IsZero() || s.ModTime.Equal(o.ModTime))
}

// Freshness says how far a result from a snapshot, an index or a cache can be trusted.
type Freshness struct {
	// ObservedAt is when its sources were read, Age how long that was ago; 0 for one in the future.
	ObservedAt time.Time
	Age        time.Duration
	// Bucket is one of the words above.
	Bucket string
	// RefreshRecommended: it is stale or has drifted.
	RefreshRecommended bool
	// Verified: every source was compared.
	Verified bool
	// Drift names up to three sources that have changed, DriftOmitted counts the others.
	Drift        []string
	DriftOmitted int
	// Warning is what else is odd, such as a time in the future.
	Warning string
}

// maxDrift is how many changed sources are named.
const maxDrift = 3

// Judge compares the sources of a result that was observed at a time. What can be compared decides:
// drifted if one has changed, fresh if all are equal. Only what could not be compared falls back to its
// age. A time in the future is fresh, with a warning.
func Judge(observed, now time.Time, sources []Source) Freshness {
	f := Freshness{ObservedAt: observed.UTC(), Age: now.Sub(observed), Verified: len(sources) > 0}
	if f.Age < 0 {
		f.Age = 0
		f.Warning = "observed_at is in the future"
	}
	for _, s := range sources {
		switch {
		case s.Unchecked:
			f.Verified = false
		case s.Seen.same(s.Now):
		case len(f.Drift) < maxDrift:
			f.Drift = append(f.Drift, clamp(oneLine(s.Name), maxName))
		default:
			f.DriftOmitted++
		}
	}
	switch {
	case len(f.Drift) > 0:
		f.Bucket, f.RefreshRecommended = Drifted, true
	case f.Verified || f.Age < time.Minute:
		f.Bucket = Fresh
	case f.Age < 10*time.Minute:
		f.Bucket = Recent
	case f.Age < time.Hour:
		f.Bucket = PossiblyStale
	default:
		f.Bucket, f.RefreshRecommended = Stale, true
	}
	return f
}

// JSON is the signal: observed_at, age_s, bucket, refresh_recommended, verified and, where there are any,
// drifted, drifted_omitted_count and warning.
func (f Freshness) JSON() []byte {
	w := newWriter(160)
	w.text("observed_at", f.ObservedAt.Format(time.RFC3339))
	w.number("age_s", int64(f.Age/time.Second))
	w.text("bucket", f.Bucket)
	w.flag("refresh_recommended", f.RefreshRecommended)
	w.flag("verified", f.Verified)
	w.raw("drifted", stringList(f.Drift))
	if f.DriftOmitted > 0 {
		w.number("drifted_omitted_count", int64(f.DriftOmitted))
	}
	w.text("warning", clamp(f.Warning, maxName))
	return w.close()
}

// Told remembers for which states a refresh was suggested. The zero value is ready; it belongs to one
// conversation and is not safe for concurrent use.
type Told struct{ keys []string }

// maxTold is how many states are remembered; the oldest is forgotten.
const maxTold = 256

// Refresh puts the tool that refreshes a result first among the suggestions, where one is recommended, the
// tool is offered, and it would change the verdict; for one state of one source at most once.
func (f Freshness) Refresh(next []string, refresh string, changes bool, offered []string, source string, told *Told) []string {
	if !f.RefreshRecommended || !changes || !slices.Contains(offered, refresh) {
		return next
	}
	key := string(canon.AppendString(nil, source)) + f.Bucket + strconv.FormatInt(f.ObservedAt.UnixNano(), 10)
	for _, name := range f.Drift {
		key += string(canon.AppendString(nil, name))
	}
	if slices.Contains(told.keys, key) {
		return next
	}
	told.keys = append(told.keys, key)
	if len(told.keys) > maxTold {
		told.keys = told.keys[1:]
	}
	rest := slices.DeleteFunc(slices.Clone(next), func(name string) bool { return name == refresh })
	return append([]string{refresh}, rest...)
}
