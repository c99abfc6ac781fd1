// GET /models and /models/{id}: the models available to the caller's organization.
import { GatewayError } from '../contract/errors.ts';
import { namesOf } from '../routing/model-names.ts';
import type { Call } from './call.ts';

interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

export async function listModels(call: Call): Promise<Response> {
  return Response.json({ object: 'list', data: await modelsOf(call) });
}

/** @throws {GatewayError} 404 */
export async function oneModel(call: Call, id: string): Promise<Response> {
  const model = (await modelsOf(call)).find((one) => one.id === id);
  if (model !== undefined) return Response.json(model);
  throw new GatewayError('model_not_found', `The model ${JSON.stringify(id.slice(0, 100))} is not listed`, {
    param: 'model',
  });
}

async function modelsOf({ deps, caller }: Call): Promise<Model[]> {
  const names = namesOf(await deps.models(caller.organizationId));
  return names.map(({ id, owner }) => ({ id, object: 'model', created: 0, owned_by: owner }));
}
