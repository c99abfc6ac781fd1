// The pages of sign-in: plain HTML, usable by keyboard and screen reader, without scripts except the script of
// passkeys. All external text is escaped; other sites cannot show the pages in frames or submit their forms.
import { createHash } from 'node:crypto';

/** Same look as the dashboard (dashboard/src/styles/tokens.css), with system fonts. */
const STYLE = `:root{color-scheme:light dark;--page:light-dark(oklch(.985 .002 265),oklch(.17 .008 265));--surface:light-dark(#fff,oklch(.2 .009 265));--line:light-dark(oklch(.915 .005 265),oklch(.285 .012 265));--strong:light-dark(oklch(.84 .008 265),oklch(.38 .014 265));--text:light-dark(oklch(.235 .012 265),oklch(.945 .005 265));--soft:light-dark(oklch(.45 .014 265),oklch(.76 .012 265));--accent:light-dark(oklch(.5 .17 258),oklch(.72 .13 254));--on:light-dark(#fff,oklch(.17 .03 258));--failed:light-dark(oklch(.51 .185 26),oklch(.755 .145 22));--failed-soft:light-dark(oklch(.968 .017 20),oklch(.275 .05 22));--sunken:light-dark(oklch(.965 .003 265),oklch(.145 .007 265))}
body{margin:0;min-height:100dvh;display:grid;place-items:center;padding:24px 16px;background:var(--page);color:var(--text);font:14px/1.5 'Inter Variable',Inter,system-ui,sans-serif}
main,input,button{box-sizing:border-box}main>:last-child,main>:last-child>:last-child{margin-bottom:0}main{width:100%;max-width:400px;padding:28px;border:1px solid var(--line);border-radius:10px;background:var(--surface)}
h1{margin:0 0 16px;font-size:20px;line-height:28px;font-weight:600;letter-spacing:-.014em}p{margin:0 0 16px;color:var(--soft)}p strong{color:var(--text)}a{color:var(--accent)}
label{display:block;font-size:13px;font-weight:500;color:var(--text)}input{width:100%;height:36px;margin:4px 0 8px;padding:0 10px;border:1px solid var(--strong);border-radius:6px;background:var(--surface);color:inherit;font:inherit}
#where{font-size:12px}summary{margin:0 0 12px;cursor:pointer}form+form,form~p,form+details,details+p{margin-top:20px}button,.button{display:inline-flex;align-items:center;justify-content:center;height:34px;padding:0 14px;margin:0 8px 0 0;border:1px solid var(--strong);border-radius:6px;background:none;color:var(--text);font:500 13px/1 inherit;font-family:inherit;text-decoration:none;cursor:pointer}
p>.button:only-child,p>button:only-child,form>button:last-child:only-of-type{width:100%;box-sizing:border-box;margin-right:0}
button.first,.button.first{background:var(--accent);border-color:transparent;color:var(--on)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
[role=alert]{padding:8px 12px;border-radius:6px;background:var(--failed-soft);color:var(--failed)}code{padding:1px 4px;border-radius:4px;background:var(--sunken);font-family:ui-monospace,monospace;font-size:12px;overflow-wrap:anywhere}
@media(pointer:coarse){input{height:40px;font-size:16px}button,.button{height:40px}}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** HTML that is already escaped. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const SCRIPT_PATH = '/api/auth/passkeys.js';
const SCRIPT = new Html(`<script type="module" src="${SCRIPT_PATH}"></script>`);

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

/** Options of a page's response. */
interface PageOptions {
  readonly status?: number;
  /** A further origin that forms may redirect to, such as the loopback port of the CLI. */
  readonly formsTo?: string;
  /** `AUTH_URL`, if the page has forms for passkeys: loads their script. */
  readonly passkeysAt?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A complete page. @param title the title of the page, which is also its heading. */
export function page(
  title: string,
  body: Html,
  { status = 200, formsTo, passkeysAt, headers = {} }: PageOptions = {},
): Response {
  const text = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        ${new Html(`<style>${STYLE}</style>`)}${passkeysAt === undefined ? null : SCRIPT}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`.text;
  // The API is on this origin, too, and none of its other paths may be used as a script.
  const script =
    passkeysAt === undefined ? '' : `script-src ${passkeysAt}${SCRIPT_PATH}; connect-src ${passkeysAt}/api/auth/; `;
  const forms = formsTo === undefined ? "'self'" : `'self' ${formsTo}`;
  return new Response(text, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; ${script}style-src 'sha256-${STYLE_HASH}'; form-action ${forms}; frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // With `no-referrer`, forms would be sent without their origin.
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      ...headers,
    },
  });
}

/** Redirects with GET. */
export function goTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}

/** Messages by the code in the page's URL. */
const signInErrors: Readonly<Record<string, string>> = {
  not_invited: 'You have not been invited yet. Ask an owner or admin of an organization to invite your login.',
  belongs_to_another_account: 'That account of the Git host belongs to another account here.',
  denied: 'The sign-in was refused at the Git host.',
  expired: 'The sign-in took too long, or was started in another browser. Try again.',
  oidc_unknown:
    'No account here is linked to this sign-in. If you have an account, sign in another way and link this sign-in: Account, Sign-in. Otherwise ask for an invitation link.',
  oidc_domain: 'Only people with a verified email address of certain domains can sign in this way. Ask the operator.',
  oidc_taken: 'That sign-in belongs to another account here.',
  oidc_second:
    'Your account is linked to another sign-in of this provider. Unlink the other sign-in first: Account, Sign-in.',
  oidc_somebody_else:
    'The provider sent another name and address than at your last sign-in, so it may have confused you with another person. If your name has changed, ask the operator.',
  oidc_denied: 'The sign-in was refused at the provider.',
  oidc_away: 'The provider of the sign-in cannot be reached. Try again in a moment, or sign in another way.',
  oidc_clock:
    'The clock of this platform or of the provider is wrong: the sign-in had expired when it arrived, or was issued in the future. Tell the operator.',
  oidc_subject: 'The provider did not send your identity. Tell the operator.',
  oidc_groups: 'The provider did not send your groups. Tell the operator.',
  oidc_invalid: 'The provider sent an invalid response. Try again in a moment.',
  git_host: 'The Git host sent an invalid response. Try again in a moment.',
  passkey: 'This passkey cannot be used here. Use another passkey, or another way to sign in.',
  token:
    'This token cannot be used to sign in: it is unknown or revoked, or it has limited permissions or an expiry date.',
  password: 'Wrong username or password.',
};
const signInNotes: Readonly<Record<string, string>> = {
  password_set: 'The new password is set. Sign in with the new password.',
  again: 'Sign in again to change how your account signs in.',
};

/** Content of the sign-in page. */
interface SignInOffer {
  /** Label of the Git host's button; null means no button. */
  readonly gitHost: string | null;
  /** Label of the OpenID Connect provider's button; null means no button. */
  readonly provider: string | null;
  /** Whether there is a form for username and password. */
  readonly hasPassword: boolean;
  /** The form for passkeys, and `AUTH_URL`, or null. */
  readonly passkey: { readonly form: Html; readonly origin: string } | null;
  /** A code of {@link signInErrors} or {@link signInNotes}. */
  readonly error: string | null;
  readonly status?: number;
}

/** The sign-in page. */
export function signInPage(
  redirect: string,
  { gitHost, provider, hasPassword, passkey, error, status = 200 }: SignInOffer,
): Response {
  const said = (texts: Readonly<Record<string, string>>): string | undefined =>
    error !== null && Object.hasOwn(texts, error) ? texts[error] : undefined;
  const [message, note] = [said(signInErrors), said(signInNotes)];
  const to = html`<input type="hidden" name="redirect" value="${redirect}" />`;
  const byPassword = html`<form method="post" action="/api/auth/sign-in/password">
    ${to}
    <label for="username">Username</label>
    <input
      id="username"
      name="username"
      autocomplete="${passkey === null ? 'username' : 'username webauthn'}"
      autocapitalize="none"
      spellcheck="false"
      required
      maxlength="100"
    />
    <label for="password">Password</label>
    <input
      id="password"
      name="password"
      type="password"
      autocomplete="current-password"
      required
      maxlength="128"
      aria-describedby="forgot"
    />
    <p id="forgot"><a href="/api/auth/recovery">Forgot your password?</a></p>
    <p><button class="first">Sign in</button></p>
  </form>`;
  const first = new Html(' class="first"');
  const elsewhere = (way: string, name: string, isFirst: boolean): Html =>
    html`<p>
      <a
        class="button${isFirst ? ' first' : null}"
        href="/api/auth/sign-in/${way}?redirect=${encodeURIComponent(redirect)}"
        >Sign in with ${name}</a
      >
    </p>`;
  const byToken = html`<form method="post" action="/api/auth/sign-in/token">
${to}
<label for="token">First-run token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required maxlength="512" aria-describedby="where">
<p id="where">The platform printed it at its first start. It is also in the file <code>secrets/first-run-token</code> of the data folder.</p>
<button${gitHost === null && provider === null && !hasPassword ? first : null}>Sign in</button>
</form>`;
  return page(
    'Sign in',
    html`${message === undefined ? null : html`<p role="alert">${message}</p>`}
    ${note === undefined ? null : html`<p role="status">${note}</p>`} ${hasPassword ? byPassword : null}
    ${passkey?.form ?? null} ${provider === null ? null : elsewhere('oidc', provider, !hasPassword)}
    ${gitHost === null ? null : elsewhere('git-host', gitHost, !hasPassword && provider === null)}
    ${
      hasPassword
        ? html`<details>
            <summary>Use a token</summary>
            ${byToken}
          </details>`
        : byToken
    }`,
    { status, ...(passkey !== null && { passkeysAt: passkey.origin }) },
  );
}

/** Consent page: asks whether the CLI may act for the user. @param fields the fields of the form. */
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
    'Authorize the command line?',
    html`<p>
        A program that calls itself <strong>${name}</strong> wants to act as <strong>${login}</strong> on this platform,
        with all your permissions, for 90 days.
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

/** Asks whether to link the account to the Git host. @param redirect path to open in both cases. */
export function linkPage({ host, origin }: URL, redirect: string): Response {
  return page(
    `Link ${host}`,
    html`<p>You can then sign in with your account there, and connect its repositories.</p>
      <form method="post" action="/api/auth/link/git-host?redirect=${encodeURIComponent(redirect)}">
        <button class="first">Continue</button><a class="button" href="${redirect}">Cancel</a>
      </form>`,
    { formsTo: origin },
  );
}

/** Asks for the code that the CLI shows. */
export function codePage(code: string, error: string | null = null, status = 200): Response {
  return page(
    'Authorize a command line',
    html`${error === null ? null : html`<p role="alert">${error}</p>`}
      <form method="post" action="/api/auth/device">
        <label for="code">Code that it shows</label>
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

/** Asks whether the CLI that shows this code may act for the user. */
export function devicePage(login: string, name: string, address: string, code: string): Response {
  return page(
    'Authorize this command line?',
    html`<p>
        A program that calls itself
        <strong>${name}</strong>${address === '' ? null : html`, at the address <code>${address}</code>,`} wants to act
        as <strong>${login}</strong> on this platform, with all your permissions, for 90 days.
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
