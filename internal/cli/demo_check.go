package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// demoReport is what "demo --json" prints. The names of its members are stable.
type demoReport struct {
	Conversation string `json:"conversation"`
	Dir          string `json:"dir"`
	// On is the folder that was gone through: FilesSearched of its files to their end, of which
	// GoFiles were parsed (UnparsedFiles of these only in part); Skipped could not be read.
	On            string   `json:"on"`
	FilesSearched int      `json:"files_searched"`
	GoFiles       int      `json:"go_files"`
	OtherFiles    int      `json:"other_files"`
	UnparsedFiles int      `json:"unparsed_files"`
	Declarations  int      `json:"declarations"`
	SkippedFiles  int      `json:"skipped_files"`
	Skipped       []unread `json:"skipped"`

	Rounds       int   `json:"rounds"`
	Results      int   `json:"results"`
	Requests     int   `json:"requests"`
	Spills       int   `json:"spills"`
	SpilledBytes int64 `json:"spilled_bytes"`

	// ShownTokens are the tokens of the texts of all results as they stand in the last request, which
	// holds every one of them; WholeTokens are those of the same results' whole texts, which the model
	// would have been sent if nothing were kept in files. What stands around the texts (the head, the
	// model's own words, the JSON of the wire) is the same in both and in neither. ShownBytes and
	// WholeBytes are the lengths of these texts. Tokens are counted in the encoding named by Encoding.
	Encoding    string `json:"encoding"`
	ShownTokens int    `json:"shown_tokens"`
	WholeTokens int    `json:"whole_tokens"`
	ShownBytes  int64  `json:"shown_bytes"`
	WholeBytes  int64  `json:"whole_bytes"`

	// Killed is what the wait status of the first process says, Resumed that a second one came to the
	// end of the turn. Kept counts the results that the first had stored and that are the same still;
	// Unknown names those that were answered as unknown. Published is how often the report was.
	Killed    bool     `json:"killed"`
	Resumed   bool     `json:"resumed"`
	Kept      int      `json:"kept"`
	Unknown   []string `json:"unknown"`
	Published int      `json:"published"`
	// PrefixHeld says that each body that the model received goes on where the one before it ended.
	PrefixHeld bool `json:"prefix_held"`
	// Verified is what "weir history verify" says.
	Verified bool `json:"verified"`

	Seconds map[string]float64 `json:"seconds"`
	Next    []string           `json:"next"`

	// cut is where the kill lies between two bodies.
	cut cut
	// stored is how many results the killed process had stored.
	stored int
}

// cut are the last body before the kill, the first one after it, and how many bytes they share.
type cut struct {
	before, after string
	bytes         int
}

// broken is the error of a demo whose promises do not hold.
func (r demoReport) broken() error {
	var bad []string
	for _, c := range []struct {
		holds bool
		what  string
	}{
		{r.Resumed, "the turn did not come to its end"},
		{r.Kept == r.stored, fmt.Sprintf("of %d stored results only %d are the same after the kill", r.stored, r.Kept)},
		{r.Published == 1, fmt.Sprintf("the report was published %s", howOften(r.Published))},
		{r.PrefixHeld, "a request does not go on where the one before it ended"},
		{r.Verified, "what is stored is not what was sent: see weir history verify"},
	} {
		if !c.holds {
			bad = append(bad, c.what)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New("a promise is broken: " + strings.Join(bad, "; "))
}

// body is one request as the model received it.
type body struct {
	file string
	all  []byte
	membrane.Request
}

// bodies reads the requests that the model received, in their order.
func (d *demo) bodies() ([]body, error) {
	files, err := filepath.Glob(filepath.Join(globbed(d.report.Dir), demoBodies, "[0-9][0-9][0-9].json"))
	if err != nil {
		return nil, fmt.Errorf("find the bodies: %w", err)
	}
	var all []body
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a body: %w", err)
		}
		r, err := scripted.Split(b)
		if err != nil {
			return nil, fmt.Errorf("read body %s: %w", filepath.Base(file), err)
		}
		all = append(all, body{file, b, r})
	}
	return all, nil
}

// globbed takes the meaning out of the characters of a path that a pattern gives one.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// check computes the figures, from what is stored and from what the model received.
func (d *demo) check(ctx context.Context) (err error) {
	bodies, err := d.bodies()
	if err != nil {
		return err
	}
	d.prefix(bodies)
	store, err := d.app.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	if err := d.count(ctx, store); err != nil {
		return err
	}
	if len(bodies) == 0 || len(bodies) != d.report.Requests {
		return fmt.Errorf("there are %s and %d bodies of them", plural(d.report.Requests, "request"), len(bodies))
	}
	if err := d.weigh(ctx, store, bodies[len(bodies)-1]); err != nil {
		return err
	}
	problems, err := history.Verify(ctx, store, demoConversation)
	if err != nil {
		return err
	}
	d.report.Verified = len(problems) == 0
	published, err := os.ReadFile(filepath.Join(d.report.Dir, demoPublished))
	if err != nil {
		return fmt.Errorf("read the published reports: %w", err)
	}
	d.report.Published = bytes.Count(published, []byte("\n"))
	d.passed(stepCheck)
	return d.tellCheck()
}

// prefix holds each body to the one before it, and finds the two on both sides of the kill.
func (d *demo) prefix(bodies []body) {
	r := &d.report
	r.PrefixHeld = len(bodies) > 1
	for i := 1; i < len(bodies); i++ {
		r.PrefixHeld = r.PrefixHeld && membrane.Prefixed(bodies[i-1].Request, bodies[i].Request)
	}
	if d.before > 0 && d.before < len(bodies) {
		before, after := bodies[d.before-1], bodies[d.before]
		r.cut = cut{before.file, after.file, len(before.Head) + len(before.Messages)}
	}
}

// count counts what is stored.
func (d *demo) count(ctx context.Context, store history.Store) error {
	r := &d.report
	results, err := store.ResultsOf(ctx, demoConversation, 0)
	if err != nil {
		return err
	}
	calls, err := store.CallsOf(ctx, demoConversation, 0)
	if err != nil {
		return err
	}
	requests, err := store.Requests(ctx, demoConversation)
	if err != nil {
		return err
	}
	for _, c := range calls {
		r.Rounds = max(r.Rounds, c.ID.Round)
		if c.Outcome == history.OutcomeUnknown {
			r.Unknown = append(r.Unknown, c.ID.String())
		}
	}
	for _, x := range results {
		if x.Spill != nil {
			r.Spills++
			r.SpilledBytes += x.Spill.Index.Bytes
		}
	}
	r.Results, r.Requests = len(results), len(requests)
	r.Kept, r.stored = d.kept(results), len(d.stored)
	return nil
}
