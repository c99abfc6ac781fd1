// Counts API responses for /metrics. main.ts wraps the API's fetch with it.
import type { Figure } from '#core/process/figures.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

/** Responses by status class, and requests in progress. */
export class RequestCounts {
  #answered = new Map(['2xx', '3xx', '4xx', '5xx'].map((status) => [status, 0]));
  #milliseconds = 0;
  #running = 0;

  /** Wraps a fetch handler with counting. */
  counted(fetch: Fetch): Fetch {
    return async (request) => {
      const startedAt = performance.now();
      this.#running++;
      let status = '5xx';
      try {
        const response = await fetch(request);
        status = `${Math.floor(response.status / 100)}xx`;
        return response;
      } finally {
        this.#running--;
        this.#milliseconds += performance.now() - startedAt;
        this.#answered.set(status, (this.#answered.get(status) ?? 0) + 1);
      }
    };
  }

  figures(): Figure[] {
    return [
      ...[...this.#answered].map(([status, count]): Figure => ['platform_api_requests_total', { status }, count]),
      ['platform_api_milliseconds_total', {}, this.#milliseconds],
      ['platform_api_requests_in_flight', {}, this.#running],
    ];
  }
}
