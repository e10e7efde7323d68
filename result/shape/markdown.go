package shape

import (
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// markdown is the default rendering: labelled bullets for an object, a table for an array of flat
// objects. Numbers and words stand as received, an empty array as [], an empty string as "".
func markdown(selected []byte) (string, error) {
	root, err := parse(selected)
	if err != nil {
		return "", refuse("the selection cannot be rendered: %v", err)
	}
	var b strings.Builder
	switch {
	case root.kind == '{' && len(root.members) > 0:
		bullets(&b, root, "", 0)
	case root.table():
		table(&b, root, "")
	case root.kind == '[' && len(root.items) > 0:
		for _, item := range root.items {
			b.WriteString("- " + inline(item, false) + "\n")
		}
	case root.kind == '"':
		return root.text(), nil
	default:
		return string(root.raw), nil
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// maxBullets is how deep bullets stand below each other; what is deeper is compact JSON.
const maxBullets = 4

func bullets(b *strings.Builder, n *node, indent string, deep int) {
	for _, m := range n.members {
		b.WriteString(indent + "- " + escape(m.key, false) + ":")
		v := m.value
		switch {
		case v.kind == '{' && len(v.members) > 0 && deep < maxBullets:
			b.WriteByte('\n')
			bullets(b, v, indent+"  ", deep+1)
		case v.table():
			b.WriteString(" " + strconv.Itoa(len(v.items)))
			if len(v.items) == 1 {
				b.WriteString(" row\n\n")
			} else {
				b.WriteString(" rows\n\n")
			}
			table(b, v, indent+"  ")
			b.WriteByte('\n')
		default:
			b.WriteString(" " + inline(v, false) + "\n")
		}
	}
}

// table says that a value is an array of flat objects.
func (n *node) table() bool {
	if n.kind != '[' || len(n.items) == 0 {
		return false
	}
	for _, item := range n.items {
		if item.kind != '{' || len(item.members) == 0 {
			return false
		}
		for _, m := range item.members {
			if !m.value.flat() {
				return false
			}
		}
	}
	return true
}

// table writes rows under all columns, in the order in which they first come. A cell that a row does not
// have is empty; an empty string is "".
func table(b *strings.Builder, n *node, indent string) {
	var columns []string
	at := map[string]int{}
	for _, item := range n.items {
		for _, m := range item.members {
			if _, ok := at[m.key]; !ok {
				at[m.key] = len(columns)
				columns = append(columns, m.key)
			}
		}
	}
	b.WriteString(indent + "|")
	for _, c := range columns {
		b.WriteString(escape(c, true) + "|")
	}
	b.WriteString("\n" + indent + "|" + strings.Repeat("-|", len(columns)) + "\n")
	for _, item := range n.items {
		row := make([]string, len(columns))
		for _, m := range item.members {
			row[at[m.key]] = inline(m.value, true)
		}
		b.WriteString(indent + "|" + strings.Join(row, "|") + "|\n")
	}
}

// inline is a value on one line.
func inline(n *node, cell bool) string {
	switch {
	case n.kind == '"' && len(n.raw) == 2:
		return `""`
	case n.kind == '"':
		return escape(n.text(), cell)
	case n.kind == '[' && len(n.items) > 0 && n.scalars():
		parts := make([]string, len(n.items))
		for i, item := range n.items {
			parts[i] = inline(item, cell)
		}
		return strings.Join(parts, ", ")
	}
	text := string(n.appendTo(nil))
	if cell {
		text = strings.ReplaceAll(text, "|", `\u007c`) // still the same JSON
	}
	return text
}

// scalars says that a list reads well between commas: numbers, words, and strings without a comma.
func (n *node) scalars() bool {
	for _, item := range n.items {
		if !item.flat() || item.kind == '"' && (strings.ContainsAny(item.text(), ",\n\r") || len(item.raw) == 2) {
			return false
		}
	}
	return true
}

var cellEscapes = strings.NewReplacer("\\", `\\`, "|", `\|`, "`", "\\`")

// escape keeps a text on its line, and in its cell. One that has line ends stands as a JSON string.
func escape(text string, cell bool) string {
	if strings.ContainsAny(text, "\r\n") {
		text = string(canon.AppendString(nil, text))
		if cell {
			text = strings.ReplaceAll(text, "|", `\u007c`)
		}
		return text
	}
	if cell {
		return cellEscapes.Replace(text)
	}
	return text
}
