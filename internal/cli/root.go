package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// commands are all commands, in the order in which help lists them.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		newDemo(a),
		newRun(a),
		newChat(a),
		newResume(a),
		newHistory(a),
		newRead(a),
		newGrep(a),
		newScript(a),
		newMCP(a),
		newShape(a),
		newEnvelope(a),
		newGC(a),
		newVersion(a),
		newCompletion(a),
	}
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Run agents whose results are stored, addressed by line and replayed byte for byte",
		Long: `weir runs a model's tool calls, stores every round, and keeps results that are over the cap whole in
files that are read and searched by line. A run that is stopped goes on where it stopped.

The state lies in .weir below the current folder. --dir or WEIR_DIR name another folder, which is then the
state folder itself. Exit status: 0 done, 1 the run failed, 2 usage, 130 interrupted.`,
		Example: `  weir run -m scripted:script.json "Where is the parser?"
  weir history show latest
  weir read r1-1:100-120`,
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.dirFlag, "dir", "", "the state folder, `DIR` itself (default "+defaultDir+" below the current folder, or WEIR_DIR)")
	root.PersistentFlags().BoolP("help", "h", false, "say what the command does")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse("%w: see %s --help", err, cmd.CommandPath())
	})
	root.SetUsageTemplate(usageTemplate)
	group(root, a.commands()...)
	root.SetHelpCommand(newHelp())
	return root
}

// usageTemplate is what stands in help below the description.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

{{.CommandPath}} COMMAND --help says more about a command.{{end}}
`

// group makes a command that only has others below it: alone it says which, and a wrong one is named.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	for _, c := range below {
		c.DisableFlagsInUseLine = true
	}
	cmd.AddCommand(below...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return misuse("%s has no command %q%s: see %s --help", cmd.CommandPath(), clip(args[0], 40), meant(cmd, args[0]), cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// meant names the commands that a wrong one is close to.
func meant(cmd *cobra.Command, word string) string {
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
	}
	return ""
}

// newHelp is "weir help COMMAND", the same as "weir COMMAND --help".
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]…",
		Short:   "Say what a command does",
		Example: "  weir help history show",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return misuse("there is no command %q: see weir --help", clip(strings.Join(args, " "), 40))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
