package paddlegate

import paddlegate.internal.NativeCharge
import paddlegate.internal.NativeUnits

/** The units of a call: a number for every limit that counts units, or a number for each label or limiter. */
public class Charge private constructor(internal val native: NativeCharge) {
    public companion object {
        /** The same number for every limit that counts units. */
        @JvmStatic public fun of(units: Long): Charge = Charge(NativeCharge.Number(units))

        /** A number for each label. */
        @JvmStatic
        public fun byLabel(units: Map<String, Long>): Charge =
            Charge(NativeCharge.Rows(units.map { (label, number) -> NativeUnits(null, whole("units", label), number) }))

        /** A number for each label. */
        @JvmSynthetic public fun byLabel(vararg units: Pair<String, Long>): Charge = byLabel(units.toMap())

        /** Of limiters that decide together, a charge for each limiter by its name, or for a label of any of them. */
        @JvmStatic
        public fun byLimiter(charges: Map<String, Charge>): Charge =
            Charge(
                NativeCharge.Rows(
                    charges.flatMap { (name, charge) ->
                        when (val of = charge.native) {
                            is NativeCharge.Number -> listOf(NativeUnits(null, whole("charges", name), of.units))
                            is NativeCharge.Rows -> of.rows.map { NativeUnits(whole("charges", name), it.label, it.units) }
                        }
                    }
                )
            )
    }
}
