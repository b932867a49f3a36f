"""Values of numpy, pandas, polars and scikit-learn, saved and loaded (SPEC ST-2)."""
import saved_kinds
from test_saving import SavingTest


class Libraries(SavingTest):
    def test_st2_values_of_libraries_come_back_with_their_identity(self):
        self.survives([("items = [1]", "items == [1]"), *saved_kinds.LIBRARIES])
        self.assertTrue({"numpy", "pandas", "polars", "sklearn"} <= set(self.manifest()["packages"]))
