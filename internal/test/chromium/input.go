package chromium

import (
	"encoding/json"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// find returns an expression for the first visible element that matches a selector and contains
// the text.
func find(selector, text string) string {
	return "[...document.querySelectorAll(" + quote(selector) + ")].find((e) => e.checkVisibility() && e.textContent.includes(" + quote(text) + "))"
}

// Click waits until the first visible element that matches a selector and contains the text is
// enabled, and clicks on it.
func (p *Tab) Click(selector, text string) {
	p.t.Helper()
	p.Until(find(selector, text) + " && !" + find(selector, text) + ".disabled")
	p.Eval(find(selector, text)+".click()", nil)
}

// Fill writes a text into a field, like typing.
func (p *Tab) Fill(selector, text string) {
	p.t.Helper()
	p.Until(find(selector, ""))
	p.Eval("{ const e = "+find(selector, "")+"; e.focus(); e.select?.() }", nil)
	p.Call("Input.insertText", map[string]string{"text": text}, nil)
}

// keys are the keys that Press supports.
var keys = map[string]string{"Tab": kb.Tab, "Enter": kb.Enter, "Space": " "}

// Press presses a key: Tab, Enter or Space.
func (p *Tab) Press(key string) {
	p.t.Helper()
	p.run(chromedp.KeyEvent(keys[key]))
}

// Hold presses the mouse button on the first visible element that matches a selector, or with touch a
// finger. It releases it when an expression is true.
func (p *Tab) Hold(selector string, touch bool, until string) {
	p.t.Helper()
	p.Until(find(selector, "") + " && !" + find(selector, "") + ".disabled")
	var at struct{ X, Y float64 }
	p.Eval(`(() => { const b = `+find(selector, "")+`.getBoundingClientRect(); return {X: b.x + b.width / 2, Y: b.y + b.height / 2} })()`, &at)
	if touch {
		p.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": at.X, "y": at.Y}}}, nil)
		p.Until(until)
		p.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}}, nil)
		return
	}
	mouse := func(kind string) {
		p.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
	mouse("mousePressed")
	p.Until(until)
	mouse("mouseReleased")
}

// HoldKey presses Enter or Space, and releases it when an expression is true.
func (p *Tab) HoldKey(key, until string) {
	p.t.Helper()
	code, text := 13, "\r"
	if key == "Space" {
		code, text = 32, " "
	}
	send := func(kind string) {
		p.Call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": strings.Replace(key, "Space", " ", 1), "code": key, "windowsVirtualKeyCode": code, "text": text}, nil)
	}
	send("keyDown")
	p.Until(until)
	send("keyUp")
}

// Picture returns a screenshot of the window as PNG.
func (p *Tab) Picture() (png []byte) {
	p.t.Helper()
	p.run(chromedp.CaptureScreenshot(&png))
	return png
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string is always valid JSON
	return string(b)
}
