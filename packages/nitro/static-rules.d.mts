/** Options of Nitro that determine the headers of files. */
export interface RuleOptions {
  readonly baseURL: string;
  readonly routeRules: Readonly<
    Record<string, { readonly headers?: Readonly<Record<string, string>>; readonly [rule: string]: unknown }>
  >;
  readonly output: { readonly publicDir: string };
}
export function writeRules(options: RuleOptions): Promise<void>;
export function headersOf(baseURL: string, routeRules: RuleOptions['routeRules']): string;
