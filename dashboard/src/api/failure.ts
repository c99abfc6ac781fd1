// The error class for failed API calls: an error response, or none at all.

/** A failed API call. `status` is 0 if there was no response. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  /** The error code, such as `not_found`; `unreachable` if there was no response. */
  readonly code: string;
  /** The request id in the API's log; null if there was no response. */
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, requestId: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }

  /** Whether the API has no such record, or none that the user may read. */
  get isMissing(): boolean {
    return this.code === 'not_found' || this.code === 'dashboard_not_found';
  }

  /** Whether a retry may succeed. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || (this.status >= 502 && this.status <= 504);
  }
}

/** Reads an error response. Both APIs send `code`; the control plane sends `message`, the dev API `error`. */
export function failureOf(status: number, body: unknown, response: Response): ApiFailure {
  const { message, error, code, requestId } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const words = [message, error].find((one) => typeof one === 'string' && one !== '');
  return new ApiFailure(
    status,
    typeof code === 'string' ? code : `status_${status}`,
    typeof words === 'string' ? words : `The API returned status ${status}`,
    typeof requestId === 'string' ? requestId : response.headers.get('x-request-id'),
  );
}

/** The title for a record that was not loaded. @example unloadedTitle('deployment', error) // 'Deployment not found' */
export function unloadedTitle(one: string, error: unknown): string {
  if (!(error instanceof ApiFailure && error.isMissing)) return `Could not load the ${one}`;
  return `${one.charAt(0).toUpperCase()}${one.slice(1)} not found`;
}

/** The message of a thrown value. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
