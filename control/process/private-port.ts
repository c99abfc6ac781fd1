// Asks the supervisor's private port: status, logs, and what engines are to do (check, warm, migrate). The one client
// of it in the control plane.

/** An answer: its status, and its JSON. */
interface PrivateAnswer<Body> {
  readonly status: number;
  readonly body: Body;
}

/** Asks the private port. */
export interface PrivatePort {
  /**
   * @param body sent as JSON by POST; without one it is a GET.
   * @throws {Error} when nobody answers in time, or with something that is no JSON.
   */
  ask<Body>(path: string, body?: unknown, waitMs?: number): Promise<PrivateAnswer<Body>>;
}

const WAIT_MS = 30_000;

/**
 * @param origin `API_HANDLER_URL`, such as `http://127.0.0.1:8081`.
 * @param token `PRIVATE_PORT_TOKEN`; null where it needs none.
 */
export function openPrivatePort(origin: string, token: string | null): PrivatePort {
  return {
    async ask<Body>(path: string, body?: unknown, waitMs: number = WAIT_MS) {
      const answer = await fetch(`${origin}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(waitMs),
      });
      return { status: answer.status, body: (await answer.json()) as Body };
    },
  };
}
