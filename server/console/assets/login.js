// The login page, which asks for an access token, or sends people to the identity provider.

import { beginLogin, identityProvider, logIn } from './api.js';
import { button, fill, h, icon } from './dom.js';
import { base, pageName } from './router.js';
import { explainError } from './ui.js';

/**
 * @param {string} reason why the user has to log in again, or ''
 * @param {() => void} done
 */
export function loginPage(reason, done) {
  const token = h('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false', required: true, 'aria-describedby': 'login-message' });
  const submit = button({ text: 'Log in', kind: 'primary', type: 'submit' });
  const message = h('p', { id: 'login-message', role: 'alert', class: 'message' }, reason);
  const people = h('div', { class: 'people' });
  void offerProvider(people, message);
  const form = h('form', { onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(message);
    try {
      await logIn({ token: token.value.trim() });
      token.value = '';
      done();
    } catch (err) {
      showError(message, err);
      token.focus();
      token.select();
    } finally {
      submit.disabled = false;
    }
  } }, h('div', { class: 'brand' }, logo(), 'Vitrine'), h('h1', null, 'Log in to the console'), people, h('label', { for: 'token' }, 'Access token'), token, message, submit,
  h('p', { class: 'muted' }, 'Type the value of an AccessToken of your property. The command ', h('code', null, 'kubectl vitrine console'), ' finds such a token and opens a login link.'));
  return { element: h('main', { class: 'login' }, form), focus: () => token.focus() };
}

/**
 * Shows an error of a login.
 * @param {HTMLElement} message
 * @param {unknown} err
 */
function showError(message, err) {
  const { title, text } = explainError(err);
  fill(message, icon('warning'), h('span', null, `${title}. ${text}`));
}

/** The name of the page, in the storage of the tab, that the console shows after a login through the identity provider. */
const returnKey = 'vitrine.return';

/**
 * Adds the button for the login through the identity provider, if there is one.
 * @param {HTMLElement} people
 * @param {HTMLElement} message
 */
async function offerProvider(people, message) {
  const offer = await identityProvider().catch(() => null);
  if (!offer) return;
  const start = button({ text: `Log in with ${offer.provider}`, onclick: async () => {
    start.disabled = true;
    fill(message);
    try {
      sessionStorage.setItem(returnKey, pageName() === 'login' ? base : location.pathname + location.search);
      // The provider returns to one address only, and a cookie of another address would not be there.
      location.assign(new URL(offer.page).origin === location.origin ? await beginLogin() : offer.page);
    } catch (err) {
      showError(message, err);
      start.disabled = false;
    }
  } });
  fill(people, start, h('p', { class: 'muted' }, 'or with an access token:'));
}

/** Returns the URL of the page that was open before the login through the identity provider. */
export function returnURL() {
  try {
    return sessionStorage.getItem(returnKey) ?? base;
  } catch {
    return base; // the browser lets no page store anything
  }
}

/**
 * Asks a person which of several AccessTokens to use.
 * @param {import('./api.js').Choices} offered
 * @param {() => void} done is called after the person has logged in or has declined the login
 */
export function choicePage({ user, choices }, done) {
  const message = h('p', { role: 'alert', class: 'message' });
  const list = h('ul', { class: 'choices' }, choices.map((choice) => h('li', null, h('button', { type: 'button', class: 'button', onclick: async () => {
    try {
      await logIn({ as: choice.as });
      done();
    } catch (err) {
      showError(message, err);
    }
  } }, h('span', null, h('bdi', null, choice.property)), h('span', { class: 'muted' }, h('bdi', null, choice.name), ` (${[choice.class, ...choice.actions].join(', ')})`)))));
  const element = h('main', { class: 'login' }, h('form', null, h('div', { class: 'brand' }, logo(), 'Vitrine'), h('h1', null, 'Choose your role'),
    h('p', null, 'You are ', h('strong', null, h('bdi', null, user)), '. Several AccessTokens name you:'), list, message, button({ text: 'Cancel', onclick: done })));
  return { element, focus: () => /** @type {HTMLElement | null} */ (list.querySelector('button'))?.focus() };
}

/**
 * Asks the user whether to log in with the one-time code of a link.
 * @param {string} code
 * @param {import('./api.js').Session} offered the session that the code begins
 * @param {() => void} done is called after the user has logged in or has declined the login
 */
export function codePage(code, offered, done) {
  const submit = button({ text: 'Log in', kind: 'primary', type: 'submit' });
  const message = h('p', { role: 'alert', class: 'message' });
  const form = h('form', { onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(message);
    try {
      await logIn({ code });
      done();
    } catch (err) {
      showError(message, err);
      submit.disabled = false;
    }
  } }, h('div', { class: 'brand' }, logo(), 'Vitrine'), h('h1', null, 'Log in to the console'),
  h('p', null, 'Log in to property ', h('strong', null, h('bdi', null, offered.property)), ` with a ${offered.class} token?`),
  h('p', { class: 'muted' }, 'The commands ', h('code', null, 'kubectl vitrine console'), ' and ', h('code', null, 'vitrine dev'), ' create links to this page. Continue only if you ran one of these commands yourself.'), message, submit, button({ text: 'Cancel', onclick: done }));
  return { element: h('main', { class: 'login' }, form), focus: () => submit.focus() };
}

/** The logo of the product. */
export function logo() {
  return h('span', { class: 'logo', 'aria-hidden': 'true' });
}
