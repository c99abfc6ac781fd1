// Passkeys in the browser: shows the forms of passkey-offer.ts where they can work, has the authenticator sign, and
// sends the form. Served as one file at /api/auth/passkeys.js; it must not use anything except the forms of its page.

const kinds = {
  get: { ask: (options) => navigator.credentials.get(options), parse: 'parseRequestOptionsFromJSON' },
  create: { ask: (options) => navigator.credentials.create(options), parse: 'parseCreationOptionsFromJSON' },
};
const problems = {
  NotAllowedError: 'The passkey was not confirmed. Try again, or use another way to sign in.',
  InvalidStateError: 'This device or password manager has a passkey of this account already.',
  SecurityError: 'Passkeys do not work at this address. Open the dashboard at its own address.',
};
const CHALLENGE_MS = 240_000;

/** Requests the passkey options of a form. Throws the message to show to the user. */
async function optionsOf(form) {
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(`${form.getAttribute('action')}/options`, { method: 'POST', body });
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const { publicKey, problem } = isJson ? await response.json() : {};
  if (publicKey) return publicKey;
  throw problem ?? `The platform refused the request (${response.status}). Try again in a few minutes.`;
}

/** Asks the authenticator for a signature, and sends the form. */
async function run(form, more = {}) {
  const { ask, parse } = kinds[form.dataset.passkey];
  const publicKey = PublicKeyCredential[parse](await optionsOf(form));
  const { id, response } = (await ask({ publicKey, ...more })).toJSON();
  for (const [name, value] of Object.entries({ id, ...response })) {
    const field = form.elements.namedItem(name);
    if (field !== null && typeof value === 'string') field.value = value;
  }
  form.submit();
}

/** Offers passkeys in the field for the username, and requests a new challenge before the last one expires. */
async function offerInField(form, stopped) {
  if (document.querySelector('[autocomplete~="webauthn"]') === null) return;
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  while (!stopped.aborted) {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(CHALLENGE_MS)]);
    try {
      await run(form, { mediation: 'conditional', signal });
      return;
    } catch (error) {
      // The user has not asked for this, so errors are shown only when the button is used.
      if (error?.name !== 'TimeoutError') return;
    }
  }
}

function setUp(form) {
  const { parse } = kinds[form.dataset.passkey];
  if (typeof globalThis.PublicKeyCredential?.[parse] !== 'function') return;
  const [said, button] = [form.querySelector('[role=alert]'), form.querySelector('button')];
  const stop = new AbortController();
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    stop.abort();
    button.disabled = true;
    said.hidden = true;
    try {
      await run(form);
    } catch (error) {
      said.textContent = typeof error === 'string' ? error : (problems[error?.name] ?? 'That did not work. Try again.');
      said.hidden = false;
      button.disabled = false;
    }
  });
  if (form.dataset.passkey === 'get') void offerInField(form, stop.signal);
  form.hidden = false;
  for (const note of document.querySelectorAll('[data-without-passkeys]')) note.hidden = true;
}

for (const form of document.querySelectorAll('form[data-passkey]')) setUp(form);
