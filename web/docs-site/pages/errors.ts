// Generates the page of errors from the registry, by the surface that returns them.
import { apiErrorCodes } from '#control/http/errors.ts';
import { errorTable, type ErrorCode } from '#core/errors.ts';
import { buildErrors } from '#core/errors/build.ts';
import { engineErrors } from '#core/errors/engine.ts';
import { gatewayErrors } from '#core/errors/gateway.ts';
import { platformErrors } from '#core/errors/platform.ts';
import { sandboxErrors } from '#core/errors/sandbox.ts';
import { code, madeFrom, table } from './table.ts';

const who = { client: 'the client', worker: 'the worker', platform: 'the platform' } as const;

export function errorsPage(): string {
  return `# Errors

Each error has a code, which stays the same from release to release; messages may change. Words in braces stand for a detail.

## Apps

The engine returns these when a worker cannot respond, and bindings throw them. The header \`x-platform-error\` has the code where
the client may know it; the log of the project always has it.

${rows(Object.keys({ ...engineErrors, ...sandboxErrors, ...platformErrors }) as ErrorCode[])}

${madeFrom('core/errors/engine.ts')}

## Management API

JSON responses contain \`message\`, \`code\` and \`requestId\`, which identifies the request in the log of the platform.

${rows(apiErrorCodes)}

${madeFrom('core/errors/api.ts')}

## AI gateway

${rows(Object.keys(gatewayErrors) as ErrorCode[])}

${madeFrom('core/errors/gateway.ts')}

## Builds

These are the \`reason\` of a failed deployment; the build log has the message.

${rows(Object.keys(buildErrors) as ErrorCode[])}

${madeFrom('core/errors/build.ts')}
`;
}

function rows(codes: readonly ErrorCode[]): string {
  return table(
    ['code', 'status', 'caused by', 'message'],
    codes.map((name) => {
      const { status, blame, message } = errorTable[name];
      return [code(name), String(status), who[blame], code(message)];
    }),
  );
}
