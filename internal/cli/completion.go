package cli

import (
	"bytes"

	"github.com/spf13/cobra"
)

// completeID completes the id of a conversation as the first argument, from what is stored.
func (a *app) completeID(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeConversation(cmd, nil, "")
}

// completeConversation completes the id of a conversation. A state that cannot be read completes nothing.
func (a *app) completeConversation(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	store, err := a.openToRead(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer store.Close()
	const most = 50 // a person looks at no more
	list, err := store.Conversations(cmd.Context(), most)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := []cobra.Completion{latest}
	for _, c := range list {
		ids = append(ids, cobra.CompletionWithDesc(c.ID, clip(printable(c.Title), 60)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes weir's commands in a shell",
		Long: `completion prints a script for one shell on stdout. Load it for this shell, or put it where the shell
looks for such scripts.`,
		Example: `  source <(weir completion bash)
  weir completion zsh > "${fpath[1]}/_weir"
  weir completion fish > ~/.config/fish/completions/weir.fish`,
		Args:      exactly(1, "one of bash, zsh, fish, powershell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			var b bytes.Buffer
			var err error
			switch root := cmd.Root(); args[0] {
			case "bash":
				err = root.GenBashCompletionV2(&b, true)
			case "zsh":
				err = root.GenZshCompletion(&b)
			case "fish":
				err = root.GenFishCompletion(&b, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(&b)
			default:
				return misuse("there is no completion for %q: it is made for bash, zsh, fish and powershell", clip(args[0], 40))
			}
			if err != nil {
				return err
			}
			return a.emit(b.Bytes())
		},
	}
}
