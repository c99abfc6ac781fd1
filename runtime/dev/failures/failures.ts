// Responses of `platform dev` when the project has errors: the errors themselves, only for its author. Made by
// dev.ts.
import { errorTable } from '#core/errors.ts';
import type { Explain } from '../../engine/serving/failed-requests.ts';
import type { FailureResponse } from '../../engine/http/error-pages.ts';
import type { Exchange } from '../../engine/http/listener.ts';
import { changesPath, type ChangeStream } from './change-stream.ts';
import { acceptsPages, failureAnswer, type ShownError, type ShownFailure } from './failure-page.ts';

/** Responses with errors. */
interface DevFailures {
  /** Creates the response to a request whose invocation failed. */
  readonly explain: Explain;
  /** The errors of the newest build; empty if it is served. */
  readonly broken: readonly ShownError[];
  /** Called when a build is served, or has failed with these errors. */
  built(errors: readonly ShownError[]): void;
  /** Creates the response to a request that cannot be served, because the project does not build. */
  answerUnbuilt(exchange: Exchange): void;
}

const unbuilt: FailureResponse = {
  status: errorTable.build_failed.status,
  headerBlock: 'content-type\0application/json\0cache-control\0no-store\0x-platform-error\0build_failed\0',
  body: JSON.stringify({ error: errorTable.build_failed.message, code: 'build_failed' }),
};

/** @param host the host on which dev listens. */
export function createDevFailures(host: string, changes: ChangeStream): DevFailures {
  let broken: readonly ShownError[] = [];

  function show(
    exchange: Exchange,
    plain: FailureResponse,
    shown: Pick<ShownFailure, 'title' | 'errors' | 'note'>,
  ): FailureResponse {
    if (!isOwnHost(exchange.host, host)) return plain;
    // The page of a POST does not reload, because that would repeat the POST.
    const reload = exchange.method === 'GET' ? { path: changesPath, version: changes.version } : null;
    return failureAnswer({ plain, reload, ...shown }, exchange.header('accept'));
  }

  return {
    get broken() {
      return broken;
    },
    built(errors) {
      broken = errors;
    },
    explain(exchange, plain, { title, name, message, stack, place }) {
      // A page shows the build errors, because errors of the previous build are outdated; a program still gets the
      // result of its request.
      if (broken.length > 0 && acceptsPages(exchange.header('accept'))) {
        const note = 'The previous build answered, and failed too. The page reloads when the project is saved.';
        return show(exchange, plain, { title: errorTable.build_failed.message, errors: broken, note });
      }
      const error = { name, message, ...place, ...(stack !== null && { stack }) };
      const note = 'In production, visitors do not see these details. The page reloads when the code changes.';
      return show(exchange, plain, { title, errors: [error], note });
    },
    answerUnbuilt(exchange) {
      const note = 'The page reloads when the project is saved.';
      const { status, headerBlock, body } = show(exchange, unbuilt, {
        title: errorTable.build_failed.message,
        errors: broken,
        note,
      });
      exchange.send(status, headerBlock, body);
    },
  };
}

/**
 * Whether a request used a host name of this machine. For a name that an external page has pointed here, no source code
 * is shown.
 */
function isOwnHost(host: string, devHost: string): boolean {
  const name = host.replace(/:\d+$/, '');
  return /^(?:(?:.*\.)?localhost|[\d.]+|\[[\da-f:.]+\])$/.test(name) || name === devHost.toLowerCase();
}
