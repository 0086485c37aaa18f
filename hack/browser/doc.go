// Package browser tests the console in a real Chromium against a real server, vitrine dev with the sample content. It does the main task of
// each page by mouse and by keyboard alone, checks the pages with axe-core, shows them hostile items, and scrolls ten thousand items. A
// test fails if a tab logs a message to the browser's console, or requests anything but pictures and videos from a third party. It is a
// separate module, because the product needs none of these tools. It contains only tests.
//
// The tests run if VITRINE_BROWSER is set, as in `make browser`. They need Chromium or Chrome, and download axe-core and the compiler
// of TypeScript once. A test that cannot run is skipped and logs "DID NOT RUN". With VITRINE_REQUIRE_TOOLS, it fails instead.
//
// With -shots DIR, the tests also write the pictures of the documentation.
package browser
