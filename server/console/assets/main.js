// The entry point of the console. It logs the user in and starts the frame.

import { authorize, lookUp, Problem, session, sessionEvents } from './api.js';
import { h } from './dom.js';
import { startKeys } from './keys.js';
import { choicePage, codePage, loginPage, returnURL } from './login.js';
import { base, pageName, parameters, startRouter } from './router.js';
import { startShell } from './shell.js';
import { explainError, failure, mountMessages, saveSetting } from './ui.js';

startRouter();
startKeys();
mountMessages();
let end = () => {};
/** Whether the page shows the frame. */
let running = false;
let reason = '';
// Each failed request dispatches this event, but only the first event ends the frame.
sessionEvents.addEventListener('signedout', () => {
  if (!running) return;
  reason = 'Your session has ended, or another tab has logged in with a different token. Log in again, or reload the page to use the session of the other tab.';
  showLogin();
});
// The browser can keep a page in memory. After the logout, the Back button must not show private data from such a page.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
await askAboutCode();
await finishAuthorization();
await start();

/**
 * Reads the one-time code in the fragment of the URL, if there is one. After the user has confirmed the login, it exchanges the code for
 * a session. Without the confirmation, a link from another user could log this user in to a property of the other user.
 */
async function askAboutCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (!code) return;
  const accepted = pageName() === 'login';
  history.replaceState(null, '', accepted ? base : location.pathname + location.search);
  if (!accepted) return;
  try {
    const offered = await lookUp(code);
    document.title = 'Log in – Vitrine';
    await ask((done) => codePage(code, offered, done));
  } catch (err) {
    const { title, text } = explainError(err);
    reason = err instanceof Problem && err.type === 'login-refused'
      ? 'This link no longer works, because a link is valid for only one login and only one minute. Run the command again to get a new link, or log in with a token.' : `${title}. ${text}`;
  }
}

/**
 * Completes a login through the identity provider, if the provider has sent the browser to the login page. The server accepts the login only
 * if this browser has begun it.
 */
async function finishAuthorization() {
  if (pageName() !== 'login') return;
  const sent = parameters();
  // The code is secret until it is used, so it leaves the URL first.
  history.replaceState(null, '', returnURL());
  if (!sent.has('state')) return;
  try {
    const offered = await authorize({ code: sent.get('code'), state: sent.get('state'), error: sent.get('error') });
    document.title = 'Log in – Vitrine';
    if (offered) await ask((done) => choicePage(offered, done));
  } catch (err) {
    const { title, text } = explainError(err);
    reason = `${title}. ${text}`;
  }
}

/**
 * Shows a page until the user has answered.
 * @param {(done: () => void) => {element: HTMLElement, focus: () => void}} make
 */
function ask(make) {
  return new Promise((done) => {
    const page = make(() => done(null));
    document.body.prepend(page.element);
    page.focus();
    end = () => page.element.remove();
  });
}

/** Shows the console, or the login page if there is no session. */
async function start() {
  leave();
  try {
    const current = await session();
    if (current) {
      running = true;
      end = startShell(current);
    } else showLogin();
  } catch (err) {
    const page = h('main', { class: 'login' }, h('h1', { class: 'hidden' }, 'Vitrine'), failure(err, () => void start()));
    document.body.prepend(page);
    end = () => page.remove();
  }
}

/** Ends the frame, the login page or the error page. */
function leave() {
  running = false;
  end();
  end = () => {};
}

/** Shows the login page in place of the console. */
function showLogin() {
  leave();
  saveSetting('queries', ''); // the next user of the browser must not see the queries of this one
  const login = loginPage(reason, () => {
    reason = '';
    void start();
  });
  document.title = 'Log in – Vitrine';
  document.body.prepend(login.element);
  login.focus();
  end = () => login.element.remove();
}
