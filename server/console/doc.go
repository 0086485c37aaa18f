// Package console serves the console: the web application below /console/, with which people look at the content of a property and
// moderate it in a browser.
//
// The console is a client of the public HTTP API. This package serves the files of the application, keeps its sessions, and passes
// the requests of a session to the handler of the API with the token of the session. It knows nothing about items or filters.
//
// Invariants:
//
//   - The token never reaches a URL, a log, the storage of the browser in readable form, or a script of the page after the login.
//   - The server stores no sessions. A session is a cookie that the server encrypts: every replica of the library accepts it, also
//     after a restart. The cookie contains the token, because a cookie with only a digest of it could be forged from a backup, which
//     contains the digests and the key.
//   - Each request checks the token again, so a session ends with its token.
//   - A request that changes something or calls the API comes from the console itself: it has a header that no form and no picture can
//     set, and no foreign origin. A page calls the API only in the session that it shows.
//   - No response can be framed, and no script or style runs that is not a file of the application.
//
// Layout: console.go has the options, the routes and the headers of all responses; assets.go serves the files; session.go encrypts
// sessions; login.go begins and ends them; codes.go has the one-time codes; proxy.go passes requests to the API; problem.go has the
// errors.
//
// # Files of the application
//
// The folder assets contains the application as native ES modules, and nothing else. To add a file, put it there; its extension must
// be one of those in assets.go. index.html is the page of every path below /console/ that is not an endpoint. It refers to files as
// "assets/NAME" in double quotes, which New replaces with their URLs: /console/assets/HASH/NAME. HASH covers all files, so browsers
// may keep them forever. Modules and style sheets refer to other files with relative URLs, such as "./wall.js". Files in subfolders
// work in the same way.
//
// During development, vitrine dev --console-assets server/console/assets serves the files from the folder: reload the page to see a
// change.
//
// This package imports the standard library only.
package console
