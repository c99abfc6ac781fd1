// The few pages of sign-in: plain HTML without scripts, usable by keyboard and screen reader. Every text from outside
// is escaped; no other site may frame them or take their forms.
import { createHash } from 'node:crypto';

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;padding:0 1rem;max-width:30rem}
h1{font-size:1.5rem}label{display:block;font-weight:600;margin-top:1rem}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:.25rem 0 1rem}
button,.button{font:inherit;display:inline-block;padding:.5rem 1rem;margin:0 .5rem .5rem 0;border:1px solid;border-radius:.4rem;background:none;color:inherit;text-decoration:none;cursor:pointer}
button.first,.button.first{background:#1d4ed8;border-color:#1d4ed8;color:#fff}[role=alert]{border-left:.3rem solid #b91c1c;padding:.25rem .75rem}code{font-size:1.05em;overflow-wrap:anywhere}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** HTML that needs no escaping any more. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** HTML with its values escaped. @example html`<p>Hello ${name}</p>` */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | null)[]): Html {
  const texts = values.map((value) => (value instanceof Html ? value.text : escape(value ?? '')));
  return new Html(parts.map((part, at) => part + (texts[at] ?? '')).join(''));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

/** How a page is answered. */
interface PageOptions {
  readonly status?: number;
  /** An origin that a form leads to beside our own, such as the loopback port of a command line. */
  readonly formsTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A whole page. @param title also its heading. */
export function page(title: string, body: Html, { status = 200, formsTo, headers = {} }: PageOptions = {}): Response {
  const text = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`.text;
  const forms = formsTo === undefined ? "'self'" : `'self' ${formsTo}`;
  return new Response(text, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${forms}; frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // With `no-referrer`, forms would be sent without their origin.
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      ...headers,
    },
  });
}

/** Where a browser goes next, by GET. */
export function goTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}

/** Why somebody was not signed in, by the word in the address of the page. */
const signInErrors: Readonly<Record<string, string>> = {
  not_invited: 'Nobody has invited you yet. Ask an owner or admin of an organization to invite your login.',
  belongs_to_another_account: 'That account of the Git host belongs to another account here.',
  denied: 'The sign-in was refused at the Git host.',
  expired: 'The sign-in took too long or was begun in another browser. Try again.',
  git_host: 'The Git host did not answer as it should. Try again in a moment.',
  token: 'That token opens no session here: it is unknown, revoked, limited, or it expires.',
};

/** The sign-in page. */
export function signInPage(
  redirect: string,
  {
    gitHost,
    error,
    status = 200,
  }: { readonly gitHost: string | null; readonly error: string | null; readonly status?: number },
): Response {
  const message = error === null ? undefined : signInErrors[error];
  return page(
    'Sign in',
    html`${message === undefined ? null : html`<p role="alert">${message}</p>`}
${
  gitHost === null
    ? null
    : html`<p>
        <a class="button first" href="/api/auth/sign-in/git-host?redirect=${encodeURIComponent(redirect)}"
          >Sign in with ${gitHost}</a
        >
      </p>`
}
<form method="post" action="/api/auth/sign-in/token">
<input type="hidden" name="redirect" value="${redirect}">
<label for="token">Token of the first start</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required maxlength="512" aria-describedby="where">
<p id="where">The platform printed it when it started for the first time; <code>secrets/first-run-token</code> in its data folder has it.</p>
<button${gitHost === null ? new Html(' class="first"') : null}>Sign in</button>
</form>`,
    { status },
  );
}

/** Asks whether a command line may act for somebody. @param fields of the form. */
export function consentPage(
  login: string,
  name: string,
  redirectUri: string,
  fields: Readonly<Record<string, string>>,
): Response {
  const hidden = Object.entries(fields).map(
    ([key, value]) => html`<input type="hidden" name="${key}" value="${value}" />`.text,
  );
  return page(
    'Log in the command line?',
    html`<p>
        A program that calls itself <strong>${name}</strong> wants to act as <strong>${login}</strong> on this platform,
        with all your rights, for 90 days.
      </p>
      <p>
        Allow it only if you have just run <code>platform login</code> on this machine. The answer goes to
        <code>${new URL(redirectUri).host}</code>.
      </p>
      <form method="post" action="/api/auth/authorize">
        ${new Html(hidden.join(''))} <button class="first" name="decision" value="allow">Allow</button
        ><button name="decision" value="deny">Refuse</button>
      </form>`,
    { formsTo: new URL(redirectUri).origin },
  );
}

/** Asks for the code that a command line shows. */
export function codePage(code: string, error: string | null = null, status = 200): Response {
  return page(
    'Log in a command line',
    html`${error === null ? null : html`<p role="alert">${error}</p>`}
      <form method="post" action="/api/auth/device">
        <label for="code">The code that it shows</label>
        <input
          id="code"
          name="code"
          value="${code}"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          required
          maxlength="20"
        />
        <button class="first">Continue</button>
      </form>`,
    { status },
  );
}

/** Asks whether the command line that shows this code may act for somebody. */
export function devicePage(login: string, name: string, address: string, code: string): Response {
  return page(
    'Log in this command line?',
    html`<p>
        A program that calls itself
        <strong>${name}</strong>${address === '' ? null : html`, at the address <code>${address}</code>,`} wants to act
        as <strong>${login}</strong> on this platform, with all your rights, for 90 days.
      </p>
      <p role="alert">
        Allow it only if you have just run <code>platform login --no-browser</code> yourself and it shows
        <code>${code}</code>. Refuse if somebody sent you this code.
      </p>
      <form method="post" action="/api/auth/device/decide">
        <input type="hidden" name="code" value="${code}" />
        <button class="first" name="decision" value="allow">Allow</button
        ><button name="decision" value="deny">Refuse</button>
      </form>`,
  );
}
