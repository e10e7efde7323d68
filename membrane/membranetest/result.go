package membranetest

import (
	"encoding/base64"

	"github.com/weir-run/weir/membrane"
)

// The images of the suite.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGMQUDD4DwACBAFgjby7cQAAAABJRU5ErkJggg=="
	svg   = `<svg xmlns="http://www.w3.org/2000/svg"/>`
)

// resultScenarios are results, and images where they may stand.
func resultScenarios() []Scenario {
	png, _ := base64.StdEncoding.DecodeString(pixel) // a constant
	damaged := base64.StdEncoding.EncodeToString(png[:40])
	vector := base64.StdEncoding.EncodeToString([]byte(svg))
	image := func(kind string, data []byte) membrane.Block {
		return membrane.Block{Type: membrane.Image, MIMEType: kind, Data: data}
	}
	// What is declared is not what counts: the PNG has no type and the last one a wrong one.
	images := []membrane.Block{image("", png), image("image/svg+xml", []byte(svg)), image("image/png", png[:40]), image("image/png", []byte("no image"))}
	odd := []membrane.Result{{}, {Text: " \n"}, {IsError: true}, {Text: "disk <full>", IsError: true}, {Text: "a\u2028b ␀ \"q\" 😀\n"}}
	five := calls(Called{"search", `{"n":1}`}, Called{"search", `{"n":2}`}, Called{"search", `{"n":3}`}, Called{"search", `{"n":4}`}, Called{"search", `{"n":5}`})
	one := calls(Called{"search", `{"n":1}`})
	return []Scenario{
		{
			Name: "results_odd", About: `five calls search {"n":1} … {"n":5}; then the text "Done." The results are empty, blank, an error without text, an error, odd characters`,
			Results: func(i int, _ membrane.Block) membrane.Result { return odd[i%len(odd)] },
			Want:    []Outcome{five, text("Done.")}, Sent: []string{"disk <full>"},
		},
		{
			Name: "images_user", About: `the text "Seen."; the user's message has a text, an image without a type, an SVG, a damaged PNG and bytes that are no image`,
			Users: []membrane.Message{{Role: membrane.User, Blocks: append([]membrane.Block{{Type: membrane.Text, Text: "What is this?"}}, images...)}},
			Want:  []Outcome{text("Seen.")}, Sent: []string{pixel, "[image: "}, Unsent: []string{vector, damaged},
		},
		{
			Name: "images_result", About: `a call search {"n":1}; then the text "Seen." The result has the same images and the text "Four images."`,
			Results: func(int, membrane.Block) membrane.Result {
				return membrane.Result{Text: "Four images.", Images: images}
			},
			Want: []Outcome{one, text("Seen.")}, Sent: []string{"Four images."}, Unsent: []string{vector, damaged},
		},
	}
}
