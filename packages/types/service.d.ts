// Workers of other projects: `service` in platform.yaml.
/// <reference lib="esnext.disposable" />
import type { Fetcher } from './worker.d.ts';

/** A value that a call returned. When the value is disposed of, the stubs in it are too. */
type Received<Value> = Value extends object ? Value & Disposable : Value;

/** A method or a property of another worker, or of a durable object. */
export type Remote<Member> = Member extends (...args: infer Args) => infer Result
  ? (...args: Args) => ServiceResult<Awaited<Result>>
  : ServiceResult<Awaited<Member>>;

/**
 * The result of a call: a promise that also has the methods and properties of the result, before the result has
 * arrived.
 *
 * @example const name = await env.AUTH.user(1).name;
 */
export type ServiceResult<Value> = Promise<Received<Value>> &
  Disposable &
  (Value extends object
    ? { readonly [Key in Exclude<keyof Value, keyof Promise<unknown>>]: Remote<Value[Key]> }
    : unknown);

/** The methods of an entrypoint: of the instances of a class. */
type MethodsOf<Entrypoint> = Entrypoint extends abstract new (...args: never) => infer Instance ? Instance : Entrypoint;

/**
 * A worker of another project, by the methods of its entrypoint, or by the class itself.
 *
 * @example env.AUTH satisfies Service<{ verify(token: string): Promise<boolean> }>;
 *   type Admin = Service<typeof import('../auth/src/index').Admin>;
 */
export type Service<Entrypoint extends object = Record<never, never>> = Fetcher & {
  readonly [Key in Exclude<keyof MethodsOf<Entrypoint>, keyof Fetcher | 'ctx' | 'env'>]: Remote<
    MethodsOf<Entrypoint>[Key]
  >;
};
