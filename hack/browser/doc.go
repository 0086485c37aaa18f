// Package browser tests the console in a real Chromium against a real server, vitrine dev with the sample content. The tests perform the
// main task of each page by mouse alone and by keyboard alone, check the pages with axe-core, show hostile items, and scroll through ten
// thousand items. People log in through a certified identity provider, the package oidc-provider of npm. Moderation is also tested on slow
// networks, and with two moderators who press random keys; -seed N repeats the keys of such a walk. A test fails if a tab logs a message to
// the browser's console, or requests anything but pictures and videos from a third party. The package is a separate module, because Vitrine
// itself needs none of these tools. It contains only tests.
//
// The tests run only if VITRINE_BROWSER is set, as in `make browser`. They need Chromium or Chrome, and Node.js. They download axe-core,
// the TypeScript compiler and the identity provider once. A test whose tool is missing is skipped and logs "DID NOT RUN". If
// VITRINE_REQUIRE_TOOLS is set, the test fails instead.
//
// With -shots DIR, the tests also write the screenshots of the documentation.
package browser
