// The only management operation on sandboxes, which returns their location. The sandbox service reports their content.
import { placeOf, type OperationsOf } from './request-scope.ts';

export const sandboxOperations: OperationsOf<'sandbox'> = {
  async 'sandbox.place'(scope) {
    const { namespace, resource } = placeOf(scope, 'sandbox');
    return { project: namespace, resource };
  },
};
