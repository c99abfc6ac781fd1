// Where the engines of a supervisor find the sandbox service: elsewhere, by `SANDBOX_URL`.

type Environment = Readonly<Record<string, string | undefined>>;

const TOKEN_CHARS_MIN = 32;

/**
 * What engines are told; nothing where there is no service.
 *
 * @throws {Error} when `SANDBOX_URL` is no address, or `SANDBOX_AUTH_TOKEN` is missing or short.
 */
export function engineSandboxes(environment: Environment): Record<string, string> {
  const url = environment['SANDBOX_URL']?.trim() ?? '';
  if (url === '') return {};
  if (!/^https?:\/\/[^/?#@\s]+\/?$/.test(url) || !URL.canParse(url))
    throw new Error('SANDBOX_URL must be the address of the sandbox service, such as http://sandbox:4006');
  const token = environment['SANDBOX_AUTH_TOKEN']?.trim() ?? '';
  if (token.length < TOKEN_CHARS_MIN)
    throw new Error(
      `SANDBOX_AUTH_TOKEN must have at least ${TOKEN_CHARS_MIN} characters, the same as the sandbox service has`,
    );
  return { ENGINE_SANDBOX_URL: new URL(url).origin, ENGINE_SANDBOX_TOKEN: token };
}
