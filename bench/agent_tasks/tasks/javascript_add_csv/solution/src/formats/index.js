import { csv } from "./csv.js";
import { json } from "./json.js";
import { table } from "./table.js";

export const FORMATS = { table, json, csv };
