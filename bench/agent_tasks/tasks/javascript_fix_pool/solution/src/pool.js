/**
 * Runs jobs, functions that return promises, at most `limit` at a time; the results in the order of the jobs.
 * Where jobs fail, all others still run, and then the promise rejects with the first error.
 */
export async function runAll(jobs, limit = 4) {
  const results = new Array(jobs.length);
  const errors = [];
  let next = 0;
  async function work() {
    while (next < jobs.length) {
      const index = next;
      next += 1;
      try {
        results[index] = await jobs[index]();
      } catch (error) {
        errors.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, jobs.length) }, work));
  if (errors.length > 0) {
    throw errors[0];
  }
  return results;
}
