// The login page, which asks for an access token.

import { logIn } from './api.js';
import { button, fill, h, icon } from './dom.js';
import { explainError } from './ui.js';

/**
 * @param {string} reason why the user has to log in again, or ''
 * @param {() => void} done
 */
export function loginPage(reason, done) {
  const token = h('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false', required: true, 'aria-describedby': 'login-message' });
  const submit = button({ text: 'Log in', kind: 'primary', type: 'submit' });
  const message = h('p', { id: 'login-message', role: 'alert', class: 'message' }, reason);
  const form = h('form', { onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(message);
    try {
      await logIn({ token: token.value.trim() });
      token.value = '';
      done();
    } catch (err) {
      const { title, text } = explainError(err);
      fill(message, icon('warning'), h('span', null, `${title}. ${text}`));
      token.focus();
      token.select();
    } finally {
      submit.disabled = false;
    }
  } }, h('div', { class: 'brand' }, logo(), 'Vitrine'), h('h1', null, 'Log in to the console'), h('label', { for: 'token' }, 'Access token'), token, message, submit,
  h('p', { class: 'muted' }, 'Type the value of an AccessToken of your property. The command ', h('code', null, 'kubectl vitrine console'), ' finds such a token and opens a login link.'));
  return { element: h('main', { class: 'login' }, form), focus: () => token.focus() };
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
      const { title, text } = explainError(err);
      fill(message, icon('warning'), h('span', null, `${title}. ${text}`));
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
