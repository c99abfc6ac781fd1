// Checks whether workers and builds can use sandboxes, by querying the health of the service at SANDBOX_URL and of its
// machines. Called by `platform doctor` and the operator's page; the token appears in no message.
import type { SandboxCheck } from '#core/sandbox/service-status.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const NAME = 'sandboxes';
const ASK_MS = 5000;
const ANSWER_BYTES_MAX = 64 * 1024;
const CHECKS_MAX = 20;
const MESSAGE_CHARS_MAX = 500;

/** Findings; none if no part of the platform uses sandboxes. */
export async function checkSandboxes(environment: Environment): Promise<Finding[]> {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const url = get('SANDBOX_URL');
  if (url === '') return get('SANDBOX_PROVIDER') === '' ? [] : [unused()];
  const address = URL.parse(url);
  if (address === null || !/^https?:$/.test(address.protocol))
    return [fail(NAME, 'SANDBOX_URL is not a valid address', 'Use an address such as http://sandbox:4006.')];
  const { host } = address;
  const token = get('SANDBOX_AUTH_TOKEN');
  if (token === '')
    return [
      fail(
        NAME,
        'SANDBOX_URL is set, and SANDBOX_AUTH_TOKEN is not',
        'Set SANDBOX_AUTH_TOKEN to the token of the sandbox service.',
      ),
    ];
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(new URL('/v1/status', address), {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(ASK_MS),
    });
    text = await readText(answer);
  } catch (error) {
    return [
      fail(
        NAME,
        `The sandbox service at ${host} does not answer: ${reasonOf(error)}`,
        'Start it (`--profile sandbox` in compose), and check its log: it does not start with invalid settings.',
      ),
    ];
  }
  if (answer.status === 401)
    return [
      fail(
        NAME,
        `The sandbox service at ${host} does not accept SANDBOX_AUTH_TOKEN`,
        'Set the same token for the service, handlers, API and builder.',
      ),
    ];
  const status = answer.status === 200 ? statusIn(text) : null;
  if (status === null)
    return [
      fail(
        NAME,
        `${host} does not answer like a sandbox service (status ${answer.status})`,
        'Check SANDBOX_URL, and update the service.',
      ),
    ];
  const { provider, running, checks } = status;
  return [ok(NAME, `The service at ${host} answers: ${provider}, ${running} run`), ...checks];
}

function unused(): Finding {
  return warn(
    NAME,
    'SANDBOX_PROVIDER starts a sandbox service, but it is not used without SANDBOX_URL',
    'Set SANDBOX_URL, such as http://127.0.0.1:4006.',
  );
}

async function readText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its response has more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Null if the response is not from a sandbox service. */
function statusIn(text: string): { provider: string; running: number; checks: Finding[] } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { provider, running, checks } = value as Readonly<Record<string, unknown>>;
  if (typeof provider !== 'string' || typeof running !== 'number' || !Array.isArray(checks)) return null;
  return { provider, running, checks: checks.slice(0, CHECKS_MAX).filter(isCheck).map(findingOf) };
}

function isCheck(value: unknown): value is SandboxCheck {
  const { status, message, advice } = (value ?? {}) as Partial<Record<keyof SandboxCheck, unknown>>;
  const isStatus = status === 'ok' || status === 'warn' || status === 'fail';
  return isStatus && typeof message === 'string' && (advice === null || typeof advice === 'string');
}

function findingOf({ status, message, advice }: SandboxCheck): Finding {
  const short = message.slice(0, MESSAGE_CHARS_MAX);
  return { name: NAME, status, message: short, advice: advice?.slice(0, MESSAGE_CHARS_MAX) ?? null };
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string }; message: string };
  return cause?.code ?? message;
}
