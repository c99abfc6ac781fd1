// What sign-in is given, beside the parts that everything in the control plane has.
import type { GitHostSettings, SignUp } from '../process/configuration.ts';
import type { Sessions } from './sessions.ts';

/** `parts.signIn`. */
export interface SignInParts {
  readonly sessions: Sessions;
  /** `AUTH_SECRET`. */
  readonly secret: string;
  readonly gitHost: GitHostSettings;
  readonly signUp: SignUp;
}
