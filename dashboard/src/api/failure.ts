// The one shape of everything that goes wrong with the API: what it answered, or that nobody did.

/** Something the API refused or could not do. `status` 0: nobody answered. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  /** For programs, such as `not_found`; `unreachable` where nobody answered. */
  readonly code: string;
  /** As in the API's log; null where nobody answered. */
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, requestId: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }

  /** Whether trying again may help. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || (this.status >= 502 && this.status <= 504);
  }
}

/** Reads the body of a refusal; both APIs have `code`, the control plane's says `message`, that of dev `error`. */
export function failureOf(status: number, body: unknown, response: Response): ApiFailure {
  const { message, error, code, requestId } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const words = [message, error].find((one) => typeof one === 'string' && one !== '');
  return new ApiFailure(
    status,
    typeof code === 'string' ? code : `status_${status}`,
    typeof words === 'string' ? words : `The API answered with status ${status}`,
    typeof requestId === 'string' ? requestId : response.headers.get('x-request-id'),
  );
}

/** Words for whatever was thrown. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
