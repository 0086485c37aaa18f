// Runs a certified identity provider for the tests of the login of people. The only argument is a JSON object with its settings, and its
// first line of output is its URL. A test changes what the provider says about people, and damages its ID tokens, with PUT /test: the body is
// a JSON object with the members of `test` below.

import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

const { redirect, certificate, key: certificateKey, claimsInIDToken, port } = JSON.parse(process.argv[2]);
const { privateKey } = await generateKeyPair('RS256', { extractable: true });
const key = { ...await exportJWK(privateKey), kid: 'test', alg: 'RS256', use: 'sig' };

/**
 * people contains the claims of each login name. skew is added to the clock of the provider, in seconds, when it issues a token. forged
 * contains claims that replace those of the ID token, which a key signs that only the provider has, or `stranger` instead.
 */
const test = { people: {}, skew: 0, forged: {}, stranger: false };

const listener = certificate ? https.createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(certificateKey) }) : http.createServer();
await new Promise((done) => { listener.listen(port ?? 0, '127.0.0.1', done); });
const url = `${certificate ? 'https' : 'http'}://127.0.0.1:${listener.address().port}`;

const provider = new Provider(url, {
  clients: [{ client_id: 'vitrine', client_secret: 'a secret of the client', redirect_uris: redirect, application_type: 'web' }],
  claims: { email: ['email', 'email_verified'], profile: ['groups', 'preferred_username'] },
  conformIdTokenClaims: !claimsInIDToken,
  cookies: { keys: ['a key of the cookies'] },
  pkce: { required: () => true },
  jwks: { keys: [key] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...test.people[id] }) }),
});
provider.use(async (ctx, next) => {
  if (ctx.path === '/test') {
    let body = '';
    for await (const part of ctx.req) body += part;
    Object.assign(test, JSON.parse(body));
    ctx.status = 204;
    return;
  }
  const now = Date.now;
  if (ctx.path === '/token') Date.now = () => now() + test.skew * 1000;
  try {
    await next();
  } finally {
    Date.now = now;
  }
  if (!ctx.body?.id_token || Object.keys(test.forged).length === 0 && !test.stranger) return;
  const claims = JSON.parse(Buffer.from(ctx.body.id_token.split('.')[1], 'base64url').toString());
  const by = test.stranger ? (await generateKeyPair('RS256')).privateKey : privateKey;
  ctx.body = { ...ctx.body, id_token: await new SignJWT({ ...claims, ...test.forged }).setProtectedHeader({ alg: 'RS256', kid: 'test' }).sign(by) };
});
listener.on('request', provider.callback());
console.log(url);
