// Targets of the broker: the handlers in `API_HANDLER_URL`, or those of all announced machines. Used by main.ts.
import { openHandlerAddresses, parseHandlerUrls, type HandlerAddresses } from '#core/process/handler-addresses.ts';
import type { Statements } from '#postgres/connection.ts';
import { openHandlerMachines } from '#postgres/handler-machines.ts';

/** @param given `machineOrigin`: `MACHINE_ORIGIN` of the supervisor; '' if only `urls` are used. */
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
