// Address of the sandbox service for its clients: `SANDBOX_URL` and `SANDBOX_AUTH_TOKEN`, the same for handlers, the
// API and the builder.
import type { SandboxServiceAddress } from './service-client.ts';

const TOKEN_CHARS_MIN = 32;

/**
 * Null without a service.
 *
 * @throws {Error} when `SANDBOX_URL` is not a URL, or `SANDBOX_AUTH_TOKEN` is missing or short.
 */
export function sandboxServiceFrom(
  environment: Readonly<Record<string, string | undefined>>,
): SandboxServiceAddress | null {
  const url = environment['SANDBOX_URL']?.trim() ?? '';
  if (url === '') return null;
  if (!/^https?:\/\/[^/?#@\s]+\/?$/.test(url) || !URL.canParse(url))
    throw new Error('SANDBOX_URL must be the address of the sandbox service, such as http://sandbox:4006');
  const token = environment['SANDBOX_AUTH_TOKEN']?.trim() ?? '';
  if (token.length < TOKEN_CHARS_MIN)
    throw new Error(
      `SANDBOX_AUTH_TOKEN must have at least ${TOKEN_CHARS_MIN} characters, the same as the sandbox service has`,
    );
  return { url: new URL(url).origin, token };
}
