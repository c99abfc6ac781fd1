// The handlers to which the broker delivers: those of `API_HANDLER_URL`, or of all announced machines. Used by main.ts.
import { openHandlerAddresses, parseHandlerUrls, type HandlerAddresses } from '#core/process/handler-addresses.ts';
import type { Statements } from '#postgres/connection.ts';
import { openHandlerMachines } from '#postgres/handler-machines.ts';

/** @param given `machineOrigin` is `MACHINE_ORIGIN` from the supervisor; '' if only `urls` are used. */
export function openHandlers(given: {
  readonly urls: string;
  readonly machineOrigin: string;
  readonly sql: Statements;
  readonly onTrouble: (error: Error) => void;
}): HandlerAddresses {
  const local = parseHandlerUrls(given.urls);
  const { machineOrigin, sql } = given;
  if (machineOrigin === '') return openHandlerAddresses(local);
  const ownOrigin = machineOrigin === 'none' ? null : machineOrigin;
  return openHandlerMachines({ sql, local, ownOrigin, onTrouble: (error) => given.onTrouble(error as Error) });
}
