// Package console serves the console: the web application below /console/. With the console, users view and moderate the content of a
// property.
//
// The console is a client of the public HTTP API. This package serves the files of the application and manages its sessions. It passes
// the requests of a session to the handler of the API with the token of the session. It knows nothing about items or filters.
//
// Invariants:
//
//   - The token is never in a URL or a log. Browsers store it only in encrypted form. After the login, scripts cannot read it.
//   - The server stores no sessions. A session is an encrypted cookie, which every replica of the library accepts, even after a restart.
//     The cookie contains the token itself, because a digest would not be enough: a backup contains the digests and the key, so an attacker
//     with a backup could forge such a cookie.
//   - A session of a person contains no token, only the name of the person and of an AccessToken that names the person. The key of its
//     cookie depends on the client secret at the identity provider in addition to the key of the library, because a backup must not be
//     enough to forge it. The console checks on each request that the AccessToken still names the person. The API learns the person only
//     from the context of a request, never from a header.
//   - A login through the identity provider ends in the browser that began it, once.
//   - The server remembers which sessions have ended, with one bit for each session. It forgets none before the session would be over
//     anyway, and callers with the same token cannot end each other's sessions or use up each other's codes.
//   - The console checks the token again on each request, so a session ends when its token becomes invalid.
//   - Only the console itself can send requests that change data or call the API. Such a request must have a header that no form and no
//     picture can set, and must not have a foreign origin. A page can call the API only in the session that it shows.
//   - No other page can show a response in a frame. Only scripts and styles that are files of the application run.
//
// # Files
//
//	routes.go                the routes and the pages
//	guard.go                 which requests the console accepts, and the headers of all responses
//	login.go, session.go     begin, read and end sessions
//	person.go, provider.go   log people in through an identity provider
//	issue.go                 gives one-time codes to programs
//	proxy.go                 passes requests to the API
//	console.go               the options and the state of a console
//	assets.go                the files of the application
//	codes.go, attempts.go    one-time codes, and the number of failed logins
//	register.go, seal.go     remembers which sessions and codes have ended; encrypts them
//	problem.go               the errors
//
// # Files of the application
//
// The folder assets contains the application as native ES modules, and nothing else. To add a file, put it into this folder. The list in
// assets.go must contain the extension of the file. The server sends index.html for every path below /console/ that is not an endpoint.
// In index.html, files have references of the form "assets/NAME" in double quotes. New replaces each reference with the URL
// /console/assets/HASH/NAME. HASH covers the content of all files, so browsers may cache them permanently. Modules and style sheets refer
// to other files with relative URLs, such as "./wall.js". Files in subfolders work in the same way. An element <script>NAME</script> or
// <style>NAME</style> in index.html gets the content of the file, and the policy of the page allows this content by its digest.
//
// During development, vitrine dev --console-assets server/console/assets serves the files from the folder. Reload the page to see a
// change.
//
// The package may import coding and problems.
package console
