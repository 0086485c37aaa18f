package browser

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

// TestSlowNetwork opens the wall for the first time on a network with a latency of 800 ms and 30 kB/s. It shows a skeleton after one
// request. The requests for the session and for the items follow it while the modules load, and each is sent once.
func TestSlowNetwork(t *testing.T) {
	browserPath(t)
	s := startServer(t, "--samples")
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	// Browsers use HTTP/2, which has no limit of six requests at a time, only with TLS.
	tls := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Host = p.In.Host // the console rejects requests whose origin differs from the host
	}})
	tls.EnableHTTP2 = true
	tls.StartTLS()
	t.Cleanup(tls.Close)
	b := startBrowser(t, &server{url: tls.URL, token: s.token})
	tab := b.tab(t, 1280, 800, "light")
	tab.allowed = []string{""} // the browser cannot load the pictures of the samples
	call(tab, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
	call(tab, fetch.Disable, cdp.Empty{}) // it would answer for every site with TLS
	tab.open("")
	tab.wait(`document.querySelector('.login input')`)
	tab.keys(s.token + "\r")
	tab.wait(`document.querySelector('.tile')`)
	tab.do(chromedp.Navigate("about:blank"))
	call(tab, network.ClearBrowserCache, cdp.Empty{})
	call(tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	call(tab, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Latency: 800, DownloadThroughput: 30_000, UploadThroughput: 30_000}},
	})
	tab.open("")
	tab.wait(`document.querySelector('.tile')`)
	if late := eval[string](tab, `(() => {
		const all = performance.getEntriesByType('resource');
		const modules = all.filter((e) => e.name.endsWith('.js'));
		const sent = (path) => all.filter((e) => e.name.includes('/console/' + path));
		return ['session', 'api/v2/content/items'].filter((path) => sent(path).length !== 1 || sent(path)[0].startTime > Math.max(...modules.map((e) => e.responseEnd)))
			.concat(modules.filter((e) => e.startTime > sent('session')[0].responseEnd).map((e) => e.name)).join(' ');
	})()`); late != "" {
		t.Errorf("requested more than once, or later than necessary: %s", late)
	}
	skeleton := eval[float64](tab, `performance.getEntriesByName('first-paint')[0].startTime / 1000`)
	tiles := eval[float64](tab, `performance.getEntriesByName('vitrine.wall')[0].startTime / 1000`)
	t.Logf("skeleton after %.1f s, tiles after %.1f s", skeleton, tiles)
	// One more request in the chain would add 0.8 s. The limits leave room for a slow machine.
	if skeleton > 2 || tiles > 7 {
		t.Errorf("the page shows a skeleton after %.1f s, and tiles after %.1f s", skeleton, tiles)
	}
}

// call sends a command of the DevTools protocol to the tab.
func call[P, R any](tab *tab, command cdp.Command[P, R], params P) {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, command, params); err != nil {
		tab.fail(err)
	}
}
