// `process.env` of workers: the variables of the deployment. Merges with @types/node if a project has it.
declare global {
  namespace NodeJS {
    interface ProcessEnv {
      [name: string]: string | undefined;
    }
    interface Process {
      env: ProcessEnv;
    }
  }
  var process: NodeJS.Process;
}

export {};
