package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

const (
	// demoConversation is the id of the demo's conversation.
	demoConversation = "demo"
	// demoModel is how the settings of that conversation name its model.
	demoModel = "demo"
	// demoBodies and demoPublished are what the demo keeps in its folder beside the state.
	demoBodies    = "bodies"
	demoPublished = "published.txt"
	// demoTime is how long a demo may take.
	demoTime = 30 * time.Minute
)

// demoFields says what "demo --json" prints.
const demoFields = `  conversation, dir, on, files_searched, go_files, other_files, unparsed_files, declarations,
  skipped_files, skipped [{path, reason}], rounds, results, requests, spills, spilled_bytes,
  encoding, shown_tokens, whole_tokens, shown_bytes, whole_bytes, killed, resumed, kept, unknown [results],
  published, prefix_held, verified, seconds {step: s}, next [commands].`

// demoFlags are the flags of "weir demo".
type demoFlags struct {
	on     string
	asJSON bool
}

func newDemo(a *app) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo [--on DIR]",
		Short: "See the whole machine at work, with no key and no network",
		Long: `demo runs an agent on real files: the sources of Go's standard library, or any other folder. The model plays a
script; everything else is real. A tool lists every exported declaration, a result of several megabytes that is
kept whole in a file while the model is shown its two ends. The model searches it and reads it by line. Then the
process is killed in the middle of a round, and a new one goes on.

It ends with what the model was shown and what stayed on disk, with the proof that each request is a byte prefix
of the next one, and with commands to look around. The state lies in a new folder below the temporary one, or in
--dir, which must be new or empty.

--json prints one object instead:
` + demoFields,
		Example: `  weir demo
  weir demo --on . --json
  weir demo --dir demo && weir --dir demo history show latest`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), f) },
	}
	cmd.PersistentFlags().StringVar(&f.on, "on", "", "the `DIR` to work on (default the sources of the Go installation)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	cmd.AddCommand(&cobra.Command{
		Use: "work", Hidden: true, Args: exactly(0, "no arguments"),
		Short: "The process that weir demo starts and kills",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demoWork(cmd.Context(), f.on) },
	})
	return cmd
}

// demo is one run of the demo.
type demo struct {
	app    *app
	on     string // the folder that it works on, absolute
	made   bool   // the state folder is the demo's own
	screen *screen
	// list is the length of the list in lines.
	list  int
	began time.Time
	// lap is when the step at hand began.
	lap time.Time
	// told is the step that was told of last.
	told string
	// report is what is printed in the end.
	report demoReport
	// before is how many requests the model had received when the process was killed, stored are the
	// results that were there then.
	before int
	stored []history.Result
}

// demo runs the demo, step by step.
func (a *app) demo(ctx context.Context, f demoFlags) (err error) {
	on, err := sourceFolder(ctx, f.on)
	if err != nil {
		return err
	}
	dir, made, err := a.demoDir(on)
	if err != nil {
		return err
	}
	a.dirFlag = dir
	ctx, stop := context.WithTimeoutCause(ctx, demoTime, fmt.Errorf("the demo took longer than %s: name a smaller folder with --on", demoTime))
	defer stop()
	d := &demo{app: a, on: on, made: made, screen: a.newScreen(f.asJSON), began: time.Now(), lap: time.Now()}
	d.report = demoReport{Conversation: demoConversation, Dir: dir, On: on, Skipped: []unread{}, Unknown: []string{}, Seconds: map[string]float64{}}
	err = d.run(ctx)
	d.screen.close()
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errInterrupted):
		return &exit{statusInterrupted, errors.New("interrupted" + d.left())}
	default:
		return fmt.Errorf("%w%s", err, d.left())
	}
	d.report.Next = d.next()
	if f.asJSON {
		err = a.emitJSON(d.report)
	} else {
		err = a.emit([]byte(d.summary()))
	}
	return errors.Join(err, d.report.broken())
}

// run runs the steps. Those of the conversation are its rounds, see demoRounds.
func (d *demo) run(ctx context.Context) error {
	if err := d.intro(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{d.work, d.resume, d.check} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// passed ends a step, or a part of one, and keeps how long it took.
func (d *demo) passed(step string) time.Duration {
	now := time.Now()
	took := now.Sub(d.lap)
	d.lap = now
	d.report.Seconds[step] += took.Seconds()
	d.report.Seconds["total"] = now.Sub(d.began).Seconds()
	return took
}

// left says what there is to go on with after a demo that did not come to its end.
func (d *demo) left() string {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if store, err := d.app.openToRead(ctx); err == nil {
		defer store.Close()
		turns, err := store.TurnsOf(ctx, demoConversation)
		if n := len(turns); err == nil && n > 0 && turns[n-1].State != history.TurnEnded {
			return ": " + d.command("resume") + " goes on"
		}
	}
	if d.made {
		_ = os.Remove(d.report.Dir) // only when nothing is in it
	}
	return ""
}

// demoDir makes the folder for the state; made is false for an empty one that was there.
func (a *app) demoDir(on string) (dir string, made bool, err error) {
	if a.dirFlag == "" {
		dir, err := os.MkdirTemp("", "weir-demo-")
		if err != nil {
			return "", false, fmt.Errorf("make a folder for the state: %w: name another one with --dir", err)
		}
		return dir, true, nil
	}
	bad := func(why string) (string, bool, error) {
		return "", false, misuse("%s %s: name a folder that is new or empty with --dir", a.dirFlag, why)
	}
	abs, err := filepath.Abs(a.dirFlag)
	if err != nil {
		return bad("cannot be used: " + err.Error())
	}
	if below(resolved(abs), on) {
		return bad("lies in the folder that the demo goes through, " + on)
	}
	entries, err := os.ReadDir(abs)
	if made = errors.Is(err, fs.ErrNotExist); made {
		err = os.MkdirAll(abs, 0o700)
	}
	if err == nil {
		err = writable(abs)
	}
	switch {
	case err != nil:
		return bad("cannot be used: " + reasonOf(err))
	case len(entries) > 0:
		return bad(fmt.Sprintf("holds something already (%s)", entries[0].Name()))
	}
	return a.dirFlag, made, nil
}

// writable tells whether a file can be made in a folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".weir-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// resolved is a path without symbolic links, as far as it is there.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	return filepath.Join(resolved(up), filepath.Base(path))
}

// below says whether a path lies in a folder, or is it.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// demoSetup is what the settings of the demo's conversation hold beside the model, so that any process can
// go on with it.
type demoSetup struct {
	// On is the folder that the demo's tool goes through, Published the file that reports go to. Both
	// are absolute.
	On        string `json:"on"`
	Published string `json:"published"`
}

// demoSettings are the settings of the demo's conversation.
func (a *app) demoSettings(on string) (setup, error) {
	dir, err := filepath.Abs(a.dir())
	return setup{
		Model: demoModel, System: demoSystem, Bodies: filepath.Join(dir, demoBodies),
		Demo: &demoSetup{On: on, Published: filepath.Join(dir, demoPublished)},
	}, err
}

// equip offers the tools of a setup that has some of its own, and scripts over all of them.
func (a *app) equip(s setup) error {
	if s.Demo != nil {
		listing, err := listingTool(s.Demo.On)
		if err != nil {
			return err
		}
		report, err := reportTools(s.Demo.Published)
		if err != nil {
			return err
		}
		a.tools = append(append(a.tools[:len(a.tools):len(a.tools)], listing), report...)
	}
	return a.offerScripts(s)
}

// demoModel makes the model of the demo.
func (s setup) demoModel() (membrane.Model, error) {
	return scripted.New(demoScript(), scripted.Config{Bodies: s.Bodies})
}

// encoded is a setup as it is stored with its conversation.
func (s setup) encoded() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("store the settings: %w", err)
	}
	return b, nil
}
