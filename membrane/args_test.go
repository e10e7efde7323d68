package membrane_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth-1) + `{}` + strings.Repeat("}", depth-1)
}

func TestObjectArgs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"blank", " \n", `{}`},
		{"null", "null", `{}`},
		{"empty", "", `{}`},
		{"object", "{}", `{}`},
		{"a string of nothing", `""`, `{}`},
		{"a string of null", `"null"`, `{}`},
		{"unchanged", `{"z": 1.50,  "a":12345678901234567890, "z":"\u003c", "b":{"z":1,"a":2}}`, `{"z": 1.50,  "a":12345678901234567890, "z":"\u003c", "b":{"z":1,"a":2}}`},
		{"spacing", " {\"a\":\n1} ", " {\"a\":\n1} "},
		{"a string of an object", `"{\"z\": 1,\"a\":\"\\\"\"}"`, `{"z": 1,"a":"\""}`},
		{"cut", `{"cmd":"git commit -m \"feat`, `{"_unparsed":"{\"cmd\":\"git commit -m \\\"feat"}`},
		{"array", `[1, 2]`, `{"_unparsed":"[1, 2]"}`},
		{"number", `7`, `{"_unparsed":"7"}`},
		{"words", `city = Oslo`, `{"_unparsed":"city = Oslo"}`},
		{"a string of words", `"Oslo"`, `{"_unparsed":"\"Oslo\""}`},
		{"a string of an array", `"[1]"`, `{"_unparsed":"\"[1]\""}`},
		{"a string of a string", `"\"{}\""`, `{"_unparsed":"\"\\\"{}\\\"\""}`},
		{"two objects", `{}{}`, `{"_unparsed":"{}{}"}`},
		{"invalid bytes", "{\"a\":\"\xff\"}", `{"_unparsed":"{\"a\":\"` + "\ufffd" + `\"}"}`},
		{"half a pair", `{"a":"\ud83d","b":"\ud83d\ude00"}`, `{"a":"\ufffd","b":"\ud83d\ude00"}`},
		{"as deep as may be", nested(100), nested(100)},
		{"too deep", nested(101), `{"_unparsed":"` + strings.ReplaceAll(nested(101), `"`, `\"`) + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, string(membrane.ObjectArgs([]byte(c.args)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(`{}`, string(membrane.ObjectArgs(nil))); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
}

func FuzzObjectArgs(f *testing.F) {
	for _, s := range []string{``, `null`, `{"a":1}`, `"{\"a\":1}"`, `{"cut`, "{\"\xff\":1}", `[[[`, `{"a":"\ud83d"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		out := membrane.ObjectArgs(args)
		var object map[string]json.RawMessage
		if err := json.Unmarshal(out, &object); err != nil || object == nil {
			t.Fatalf("%q gives %q, which is no object: %v", args, out, err)
		}
		if again := membrane.ObjectArgs(out); string(again) != string(out) {
			t.Errorf("%q gives %q at first and %q then", args, out, again)
		}
	})
}
