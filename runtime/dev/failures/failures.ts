// How `platform dev` answers when something is wrong with the project: with the errors themselves, to its author only.
// dev.ts makes one.
import { errorTable } from '#core/errors.ts';
import type { Explain } from '../../engine/serving/deployment.ts';
import type { FailureResponse } from '../../engine/invocation/outcome.ts';
import type { Exchange } from '../../engine/http/listener.ts';
import { changesPath, type ChangeStream } from './change-stream.ts';
import { acceptsPages, failureAnswer, type ShownError, type ShownFailure } from './failure-page.ts';

/** Answers with errors. */
interface DevFailures {
  /** A request whose invocation failed. */
  readonly explain: Explain;
  /** What is wrong with the newest build; empty: it is served. */
  readonly broken: readonly ShownError[];
  /** A build is served, or failed with these errors. */
  built(errors: readonly ShownError[]): void;
  /** A request that nothing can serve, since the project does not build. */
  answerUnbuilt(exchange: Exchange): void;
}

const unbuilt: FailureResponse = {
  status: errorTable.build_failed.status,
  headerBlock: 'content-type\0application/json\0cache-control\0no-store\0x-platform-error\0build_failed\0',
  body: JSON.stringify({ error: errorTable.build_failed.message, code: 'build_failed' }),
};

/** @param host that dev listens on. */
export function createDevFailures(host: string, changes: ChangeStream): DevFailures {
  let broken: readonly ShownError[] = [];

  function show(
    exchange: Exchange,
    plain: FailureResponse,
    shown: Pick<ShownFailure, 'title' | 'errors' | 'note'>,
  ): FailureResponse {
    if (!isOwnHost(exchange.host, host)) return plain;
    // What was posted would be posted again.
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
      // What the build before it threw is old news; a program still reads what became of its request.
      if (broken.length > 0 && acceptsPages(exchange.header('accept'))) {
        const note =
          'The build before this one answered, and failed too. The page loads itself again when the project is saved.';
        return show(exchange, plain, { title: errorTable.build_failed.message, errors: broken, note });
      }
      const error = { name, message, ...place, ...(stack !== null && { stack }) };
      const note = 'In production visitors learn nothing of this. The page loads itself again when the code changes.';
      return show(exchange, plain, { title, errors: [error], note });
    },
    answerUnbuilt(exchange) {
      const note = 'The page loads itself again when the project is saved.';
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
 * Whether a request came under a name of this machine: what came under one that a page on the Internet made point here
 * sees no source.
 */
function isOwnHost(host: string, devHost: string): boolean {
  const name = host.replace(/:\d+$/, '');
  return /^(?:(?:.*\.)?localhost|[\d.]+|\[[\da-f:.]+\])$/.test(name) || name === devHost.toLowerCase();
}
