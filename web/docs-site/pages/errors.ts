// Generates the page of errors from the error tables of engines and API.
import { apiErrors } from '#control/http/errors.ts';
import { errorTable } from '#core/errors.ts';
import { code, madeFrom, table } from './table.ts';

const who = { client: 'the client', worker: 'the worker', platform: 'the platform' } as const;

export function errorsPage(): string {
  return `# Errors

Each error has a code, which stays the same from release to release; messages may change. Words in braces stand for a detail.

## What apps answer

The engine answers with these when a worker cannot. The code is in the header \`x-platform-error\` where the client may know it; the log of the
project has it always.

${table(
  ['code', 'status', 'caused by', 'message'],
  Object.entries(errorTable).map(([name, { status, blame, message }]) => [
    code(name),
    String(status),
    who[blame],
    code(message),
  ]),
)}

${madeFrom('core/errors.ts')}

## What the management API answers

JSON responses contain \`message\`, \`code\` and \`requestId\`, which identifies the request in the platform's log.

${table(
  ['code', 'status', 'message'],
  Object.entries(apiErrors).map(([name, [status, message]]) => [code(name), String(status), code(message)]),
)}

${madeFrom('control/http/errors.ts')}
`;
}
